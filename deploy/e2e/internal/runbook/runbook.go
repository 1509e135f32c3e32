// Package runbook reads the command lines of docs/runbooks, so that tests can hold them against the product. It knows
// the form of a page and nothing of the product.
package runbook

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Page is one runbook.
type Page struct {
	Name   string // without .md
	Blocks []Block
	Typed  []string // commands that the text names, with the program's name first
	Asked  []string // what the text asks of a cluster, kubectl first
	Faults []string // what breaks the rules of docs/development.md
}

// Block is a fenced block of shell commands.
type Block struct {
	Line   int
	Reason string // why it needs a cluster; "" where a test runs it
	Lines  []string
}

// Runs says that a test runs the block.
func (b Block) Runs() bool { return b.Reason == "" }

// Commands are the lines of the block without comments, continued lines joined.
func (b Block) Commands() (all []string) {
	joined := strings.ReplaceAll(strings.Join(b.Lines, "\n"), "\\\n", " ")
	for line := range strings.SplitSeq(joined, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// languages of blocks that hold no commands.
var languages = map[string]bool{"yaml": true, "json": true, "ini": true, "text": true}

var (
	span    = regexp.MustCompile("`([^`]+)`")
	program = regexp.MustCompile(`^(payments|payments-archive|payments-serve|wallets|reports|gateway|callback-dispatcher|<service>|…) [a-z]`)
	sql     = regexp.MustCompile(`(?i)\b(select\s.+\sfrom|update\s.+\sset|insert\s+into|delete\s+from)\s`)
	shell   = regexp.MustCompile(`^(kubectl|docker compose) exec .`)
	item    = regexp.MustCompile(`^\s*([*+-]|\d+[.)]) `)
	command = regexp.MustCompile(`^\s*(\$ )?(payments|payments-archive|payments-serve|wallets|reports|gateway|callback-dispatcher|api|kubectl|docker) +[a-zA-Z-]`)
	hidden  = regexp.MustCompile("```|~~~|<pre")                  // a block where this package looks for none
	tabbed  = regexp.MustCompile(`^ *\t|^\s*>(\s*>)*( {5}| ?\t)`) // indented as code, by a tab or in a quotation
)

// Read reads every page of a directory.
func Read(directory string) (pages []Page, err error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.md"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no runbook in %s: %w", directory, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a runbook: %w", err)
		}
		pages = append(pages, parse(strings.TrimSuffix(filepath.Base(file), ".md"), string(text)))
	}
	return pages, nil
}

func parse(name, text string) Page {
	p := Page{Name: name}
	fault := func(line int, format string, values ...any) {
		p.Faults = append(p.Faults, fmt.Sprintf("%s.md:%d: ", name, line)+fmt.Sprintf(format, values...))
	}
	var prose strings.Builder
	var open *Block
	fence, indent := "", 0
	blank, list := true, false
	for i, line := range strings.Split(text, "\n") {
		bare := strings.TrimLeft(line, " ")
		switch {
		case fence == "shell" && strings.HasPrefix(bare, "```"):
			p.Blocks, open, fence = append(p.Blocks, *open), nil, ""
		case fence != "" && strings.HasPrefix(bare, "```"):
			fence = ""
		case fence == "shell":
			open.Lines = append(open.Lines, line[min(indent, len(line)-len(bare)):])
		case fence == "refused":
		case fence == "other":
			if command.MatchString(line) {
				fault(i+1, "a block of a language without commands has a command: %q", line)
			}
		case strings.HasPrefix(bare, "```"):
			indent = len(line) - len(bare)
			info := strings.TrimPrefix(bare, "```")
			reason, cluster := strings.CutPrefix(info, "sh cluster: ")
			switch {
			case info == "sh run", cluster && len(reason) > 10:
				open, fence = &Block{Line: i + 1, Reason: reason}, "shell"
				if !cluster {
					open.Reason = ""
				}
			default:
				fence = "other"
				if !languages[info] {
					fence = "refused"
					fault(i+1, "a block is neither `sh run` nor `sh cluster: reason` nor of a language without commands: %q", info)
				}
			}
		default:
			if hidden.MatchString(line) {
				fault(i+1, "a block begins with ``` alone on its line, so that a test finds it: %q", line)
			}
			spaced := blank && !list && strings.HasPrefix(line, "    ") ||
				blank && strings.HasPrefix(line, "       ") && !item.MatchString(line)
			if spaced || tabbed.MatchString(line) {
				fault(i+1, "commands stand in a fenced block that says how they are tested, not in an indented one")
			}
			if blank = strings.TrimSpace(line) == ""; !blank {
				list = item.MatchString(line) || list && strings.HasPrefix(line, " ")
			}
			prose.WriteString(line + "\n")
		}
	}
	if fence != "" {
		fault(strings.Count(text, "\n"), "a block does not end")
	}
	if found := sql.FindString(prose.String()); found != "" {
		fault(1, "a runbook prescribes no SQL: %q", found)
	}
	for _, found := range span.FindAllStringSubmatch(prose.String(), -1) {
		switch typed := strings.Join(strings.Fields(found[1]), " "); {
		case program.MatchString(typed):
			p.Typed = append(p.Typed, typed)
		case shell.MatchString(typed):
			fault(1, "no container has a shell; commands.md says how to get to a command: %q", typed)
		case strings.HasPrefix(typed, "kubectl ") && name != "commands":
			p.Asked = append(p.Asked, typed)
		}
	}
	return p
}
