package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// profile holds the settings of one product and merchant. Its test and live keys are apart: only --live takes the live
// one.
type profile struct {
	URL     string `json:"url"`
	TestKey string `json:"testKey,omitempty"`
	LiveKey string `json:"liveKey,omitempty"`
}

// profiles is the file of all profiles.
type profiles struct {
	Default  string             `json:"default"` // the name of the profile that is used where none is named
	Profiles map[string]profile `json:"profiles"`
}

const livePrefix, testPrefix = "sk_live_", "sk_test_"

// profilesPath is where the profiles are, or "" if the environment names no home directory.
func (c *cli) profilesPath() string {
	if path := c.setting("CAUSEWAY_CONFIG"); path != "" {
		return path
	}
	if dir := c.setting("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "causeway", "config.json")
	}
	if home := c.setting("HOME"); home != "" {
		return filepath.Join(home, ".config", "causeway", "config.json")
	}
	return ""
}

// readProfiles reads the file, which only its owner may read. A file that does not exist holds no profile.
func (c *cli) readProfiles() (profiles, error) {
	all := profiles{Profiles: map[string]profile{}}
	path := c.profilesPath()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, fmt.Errorf("read the profiles: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return all, fmt.Errorf("others may read the keys in %s: chmod 600 it", path)
	}
	raw, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if err != nil {
		return all, fmt.Errorf("read the profiles: %w", err)
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return all, fmt.Errorf("read the profiles in %s: %w", path, err)
	}
	if all.Profiles == nil {
		all.Profiles = map[string]profile{}
	}
	return all, nil
}

// writeProfiles replaces the file in one step, so that an interruption leaves the old one.
func (c *cli) writeProfiles(all profiles) error {
	path := c.profilesPath()
	if path == "" {
		return misused("say where the profiles are: CAUSEWAY_CONFIG")
	}
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write the profiles: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write the profiles: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".config-") // only its owner may read it
	if err != nil {
		return fmt.Errorf("write the profiles: %w", err)
	}
	_, err = file.Write(append(raw, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the write has failed already
		return fmt.Errorf("write the profiles: %w", err)
	}
	return nil
}

// settle fills the settings that no flag gives, from the environment and then from the profile.
func (c *cli) settle() error {
	if c.settled {
		return nil
	}
	all, err := c.readProfiles()
	if err != nil {
		return err
	}
	base, key := c.setting("CAUSEWAY_URL", "BASE_URL"), c.setting("CAUSEWAY_API_KEY", "API_KEY")
	admin := c.setting("CAUSEWAY_ADMIN_TOKEN", "ADMIN_TOKEN")
	name := cmp.Or(c.profile, c.setting("CAUSEWAY_PROFILE"))
	chosen, found := all.Profiles[cmp.Or(name, all.Default)]
	if name != "" && !found {
		return misused("there is no profile %q", name)
	}
	if name != "" {
		base, key = "", "" // a profile that is named goes before the environment
	}
	stored := chosen.TestKey
	if c.live {
		stored = chosen.LiveKey
	}
	given := cmp.Or(c.url, base)
	if given == "" && found && c.key == "" && key != "" && key != stored {
		c.say("The key of the environment is not used: it goes only to a URL beside it, and the URL is that of the profile %s.", all.Default)
	}
	if given == "" {
		key, admin = "", "" // a secret of the environment goes to a URL that was given beside it, not to a profile's product
	}
	c.url = strings.TrimRight(cmp.Or(given, chosen.URL), "/")
	if c.url != strings.TrimRight(chosen.URL, "/") {
		stored = "" // the keys of a profile go to its own product alone
	}
	c.key = cmp.Or(c.key, key, stored)
	c.admin = cmp.Or(c.admin, admin)
	if c.url == "" {
		return misused("say where the API is: --url, CAUSEWAY_URL or a profile")
	}
	c.settled = true
	return nil
}

func (c *cli) profilesCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "list the profiles; * marks the default one", Args: words(),
		RunE: func(*cobra.Command, []string) error { return c.listProfiles() },
	}
	set := &cobra.Command{
		Use: "set NAME", Short: "make or change a profile; reads a key from standard input", Args: words("a NAME"),
		Example: "  causeway profiles set shop --url https://pay.example < key.txt",
		Long: `Makes a profile, or changes one. The key is read from standard input, so that it is in no shell's history and no
list of processes. A test key (sk_test_…) and a live key (sk_live_…) lie side by side: type the command once for each.
The first profile is the default one.`,
		RunE: func(_ *cobra.Command, args []string) error { return c.setProfile(args[0]) },
	}
	use := &cobra.Command{
		Use: "use NAME", Short: "make a profile the default one", Args: words("a NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.changeProfiles(args[0], func(all *profiles) { all.Default = args[0] })
		},
	}
	remove := &cobra.Command{
		Use: "remove NAME", Short: "forget a profile and its keys", Args: words("a NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.changeProfiles(args[0], func(all *profiles) { delete(all.Profiles, args[0]) })
		},
	}
	g := group("profiles", "keep URLs and keys, test and live apart", list, set, use, remove)
	g.Long = `Profiles keep the URL and the keys of a product in CAUSEWAY_CONFIG, else in causeway/config.json of XDG_CONFIG_HOME or
~/.config. Only the owner of the file may read it. A profile that --profile or CAUSEWAY_PROFILE names goes before the
other variables. The URL of the environment goes before the default profile; a key or a token of the environment goes
only to a URL of the environment or of --url, and never to the URL of a profile; a line on standard error says that a
key is not used. A command uses the test key of its profile, and the live key only with --live.`
	return g
}

func (c *cli) listProfiles() error {
	all, err := c.readProfiles()
	if err != nil {
		return err
	}
	has := func(key string) string {
		if key == "" {
			return "-"
		}
		return key[:min(len(key), len(livePrefix)+4)] + "…" // never the secret
	}
	t := table{head: []string{"", "NAME", "URL", "TEST KEY", "LIVE KEY"}}
	for _, name := range slices.Sorted(maps.Keys(all.Profiles)) {
		p, mark := all.Profiles[name], ""
		if name == all.Default {
			mark = "*"
		}
		if c.json {
			c.printJSON(map[string]any{"name": name, "url": p.URL, "default": mark != "", "testKey": has(p.TestKey), "liveKey": has(p.LiveKey)})
			continue
		}
		t.add(mark, name, p.URL, has(p.TestKey), has(p.LiveKey))
	}
	if !c.json {
		c.printTable(t)
	}
	return nil
}

// setProfile stores the key that standard input holds beside what the profile has.
func (c *cli) setProfile(name string) error {
	all, err := c.readProfiles()
	if err != nil {
		return err
	}
	p := all.Profiles[name]
	p.URL = cmp.Or(strings.TrimRight(c.url, "/"), p.URL)
	if p.URL == "" {
		return misused("say where the API of %q is: --url URL", name)
	}
	line := bufio.NewScanner(c.in)
	line.Scan()
	if err := line.Err(); err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	switch key := strings.TrimSpace(line.Text()); {
	case strings.HasPrefix(key, testPrefix):
		p.TestKey = key
	case strings.HasPrefix(key, livePrefix):
		p.LiveKey = key
	case key != "":
		return misused("a key begins with %s or %s", testPrefix, livePrefix)
	}
	all.Profiles[name] = p
	if all.Default == "" {
		all.Default = name
	}
	return c.writeProfiles(all)
}

// changeProfiles changes the file if it has the profile.
func (c *cli) changeProfiles(name string, change func(*profiles)) error {
	all, err := c.readProfiles()
	if err != nil {
		return err
	}
	if _, ok := all.Profiles[name]; !ok {
		return misused("there is no profile %q", name)
	}
	change(&all)
	if _, ok := all.Profiles[all.Default]; !ok {
		all.Default = ""
	}
	return c.writeProfiles(all)
}
