package main

import (
	"strings"

	"github.com/spf13/cobra"

	"causeway.internal/libs/version"
)

// root is the command with all others beneath it.
func (c *cli) root() *cobra.Command {
	root := group("causeway", "make test payments, read and change what a merchant has, watch webhooks, manage keys",
		c.listenCommand(), c.payCommand(), c.triggerCommand(),
		c.paymentsCommand(), c.walletsCommand(), c.reportsCommand(), c.webhooksCommand(), c.eventsCommand(),
		c.keysCommand(), c.profilesCommand(), c.getCommand(), c.postCommand(), c.operatorTokenCommand(), c.versionCommand())
	root.Long = `causeway makes test payments and plays their payers, reads and changes what a merchant has, watches and forwards
webhooks, and manages keys.

Settings come from flags, else from the environment, else from a profile (causeway profiles --help):

  --url          CAUSEWAY_URL, else BASE_URL             where the API is
  --key          CAUSEWAY_API_KEY, else API_KEY          secret of an API key
  --admin-token  CAUSEWAY_ADMIN_TOKEN, else ADMIN_TOKEN  operator's token, for keys

A live key is used only with --live. It and an operator's token go to another machine over https alone, and a text that
is neither a key nor a token of Causeway goes to no other machine. With a local product: make up, set -a, and . .stack/env set all of them. Secrets are
better kept in the environment or a profile than typed as flags, which other users of the machine can see.`
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.errs)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return misused("%v", err) })
	f := root.PersistentFlags()
	f.StringVar(&c.url, "url", "", "base URL of the API")
	f.StringVar(&c.key, "key", "", "secret of an API key")
	f.StringVar(&c.profile, "profile", "", "profile of the settings (CAUSEWAY_PROFILE)")
	f.BoolVar(&c.live, "live", false, "use the live key; without it only test keys are used")
	f.BoolVar(&c.json, "json", false, "print JSON, one object a line, for errors too")
	return root
}

// group is a command that only has others beneath it.
func group(name, short string, beneath ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: name, Short: short, SuggestionsMinimumDistance: 2, Args: cobra.ArbitraryArgs}
	g.AddCommand(beneath...)
	g.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			var names []string
			for _, b := range beneath {
				names = append(names, b.Name())
			}
			return misused("say what to do: %s", strings.Join(names, ", "))
		}
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return misused("there is no command %q; did you mean %s?", args[0], strings.Join(near, " or "))
		}
		return misused("there is no command %q", args[0])
	}
	return g
}

// words demands one argument for each name.
func words(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > len(names):
			return misused("%s takes no word %q", cmd.Name(), args[len(names)])
		case len(args) < len(names):
			return misused("%s needs %s", cmd.Name(), names[len(args)])
		}
		return nil
	}
}

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "show what this program was built from", Args: words(),
		RunE: func(*cobra.Command, []string) error { c.line("%s", version.Read()); return nil },
	}
}
