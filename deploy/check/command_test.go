package check

import (
	"cmp"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

var (
	blocks  = regexp.MustCompile("(?s)```.*?```")
	span    = regexp.MustCompile("`[^`]+`")
	between = regexp.MustCompile(`[|;&\n]|\$\(`)
	word    = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flag    = regexp.MustCompile(`--[a-z][a-z-]*`)
	making  = regexp.MustCompile(`(?m)^([a-z0-9/]+|image/%):`)
)

// programs are those with commands that an operator types. The page of the merchants' tool, causeway, is written from
// its help (TestHelp_everywhere).
var programs = []string{"payments", "wallets", "gateway", "reports", "callback-dispatcher", "console", "signer"}

// aliases are the words of runbooks/commands.md for a program in another pod than that of its name.
var aliases = map[string]string{"payments-serve": "payments", "payments-archive": "payments", "console-operators": "console"}

// usages are the commands of the programs, each with its flags.
type usages map[string][]string

// TestCommands: every command that a page tells its reader to type exists, with its flags. The end-to-end tests type
// those of the runbooks; this one reads all pages.
func TestCommands(t *testing.T) {
	known := usages{}
	for _, p := range programs {
		out, err := exec.Command(filepath.Join(root, "bin", p), "help").CombinedOutput()
		if len(out) == 0 {
			t.Fatalf("%s help: %v (make build makes it)", p, err)
		}
		known.read(p, string(out))
	}
	recipes, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range making.FindAllStringSubmatch(string(recipes), -1) {
		known["make "+m[1]] = nil
	}
	checked := 0
	for name, page := range markdown(t) {
		n, problems := known.wrong(page)
		checked += n
		for _, p := range problems {
			t.Errorf("%s names a command that does not exist: %s", name, p)
		}
	}
	if least := 300; checked < least {
		t.Errorf("the pages name %d commands, want at least %d", checked, least)
	}
}

func TestCommands_wrong(t *testing.T) {
	known := usages{"make test": nil, "make image/%": nil}
	known.read("payments", "usage: payments [serve | books]\n       payments pause payouts [--rail paystack]\n")
	known.read("signer", "usage: signer [serve | xpubs]\n       signer new-seed --out FILE [--recipient age1…]…")
	for text, want := range map[string]int{
		"`payments books`, `payments serve` and `payments`":    0,
		"`payments pause payouts --rail paystack`":             0,
		"`payments pause …` for the forms of it":               0,
		"`payments pause payouts --rails paystack`":            1,
		"`payments paused`":                                    1,
		"`payments pause quote`":                               1,
		"`signer new-seed --out F --recipient R`":              0,
		"`signer xpubs --out F`":                               1,
		"`make test`, `make image/payments`":                   0,
		"`make tests`":                                         1,
		"the payments table":                                   0,
		"```\nkubectl exec deploy/x -- payments bookz\n```":    1,
		"```\nSELECT 1 FROM payments WHERE true\n```":          0,
		"```\npayments books | payments pause \\\n quote\n```": 1,
	} {
		if _, got := known.wrong(text); len(got) != want {
			t.Errorf("%q: %d commands are wrong, want %d: %q", text, len(got), want, got)
		}
	}
}

// secrets are the settings of a command that one role of its service alone has (TestSettings, TestOrderKeys).
var secrets = map[string][]string{
	"payments refunds send": {"ORDER_AUTOMATIC_KEY", "ORDER_OPERATOR_KEY"},
	"dead list":             {"AMQP_URL"},
	"dead redrive":          {"AMQP_URL"},
}

// markdown are the texts of the repository's pages, by their names.
func markdown(t *testing.T) iter.Seq2[string, string] {
	t.Helper()
	return func(yield func(name, text string) bool) {
		for _, name := range texts(t) {
			if filepath.Ext(name) != ".md" {
				continue
			}
			raw, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			if !yield(name, string(raw)) {
				return
			}
		}
	}
}

// TestCommands_pods: the word of a command in a page leads to a pod that has every setting which the command reads.
func TestCommands_pods(t *testing.T) {
	typing, err := os.ReadFile(filepath.Join(root, "docs", "runbooks", "commands.md"))
	if err != nil {
		t.Fatalf("read the page of the words: %v", err)
	}
	all := build(t, "prod")
	sources, sets := given(t, all), map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+)\(\) \{ in_pod ([a-z-]+) `).FindAllStringSubmatch(string(typing), -1) {
		for _, w := range workloads(all) {
			if w.kind == "Deployment" && w.name == m[2] {
				sets[m[1]] = variables(t, w, sources)
			}
		}
	}
	checked := 0
	for name, page := range markdown(t) {
		for _, words := range commands(page) {
			program, verb := cmp.Or(aliases[words[0]], words[0]), strings.Join(leading(words[1:]), " ")
			for _, setting := range slices.Concat(secrets[program+" "+verb], secrets[verb]) {
				if program == "callback-dispatcher" && setting == "AMQP_URL" && !slices.Contains(words, "--broker") {
					continue // its dead messages are in its database
				}
				if checked++; !slices.Contains(sets[words[0]], setting) {
					t.Errorf("%s: `%s` runs in a pod without %s", name, strings.Join(words, " "), setting)
				}
			}
		}
	}
	if least := 12; checked < least {
		t.Errorf("the pages type %d commands that need a secret of a role, want at least %d", checked, least)
	}
}

// TestCommands_disks: in each installation the pod to which the word of a command leads has a volume where the command
// writes files, which outlives the pod and which the pod's user may write to.
func TestCommands_disks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "runbooks", "archive.md"))
	if err != nil {
		t.Fatalf("read the page of the archives: %v", err)
	}
	found := regexp.MustCompile("`DIRECTORY` is `(/[a-z/]+)`").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/runbooks/archive.md does not say where DIRECTORY is")
	}
	folder := filepath.Dir(string(found[1])) // an owner can make it there: the volume's own may have lost+found
	for _, words := range commands(string(page)) {
		if !slices.Contains(words, "--directory") {
			continue
		}
		for _, overlay := range overlays {
			if pod := podOf(t, overlay, words[0]); !keeps(pod, folder) {
				t.Errorf("%s: `%s` runs in a pod without a lasting %s", overlay, strings.Join(words, " "), folder)
			}
		}
	}
	dir, _ := installed(t)
	for place, project := range map[string]*types.Project{"compose": compose(t), "one server": vps(t, dir)} {
		// A new volume takes the owner of the image's directory, and this one is of the image's user.
		if !slices.ContainsFunc(project.Services["payments"].Volumes, func(v types.ServiceVolumeConfig) bool {
			return v.Type == types.VolumeTypeVolume && v.Target == folder && !v.ReadOnly && folder == "/home/nonroot"
		}) {
			t.Errorf("%s: payments has no lasting %s", place, folder)
		}
	}
}

// TestCommands_start: the page that starts a stopped service starts none of its Deployments that run only when an
// operator needs them, such as the one that archives.
func TestCommands_start(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "runbooks", "stopping.md"))
	if err != nil {
		t.Fatalf("read the page: %v", err)
	}
	running := regexp.MustCompile(`(?m)^RUNNING="(.*)"\nkubectl .* scale deployment -l "\$RUNNING" --replicas=2$`).FindSubmatch(page)
	if running == nil {
		t.Fatal("docs/runbooks/stopping.md does not scale what RUNNING selects to 2")
	}
	started, resting := 0, 0
	for _, d := range of[appsv1.Deployment](build(t, "prod")) {
		selector, err := labels.Parse(strings.ReplaceAll(string(running[1]), "$SERVICE", d.Labels["app.kubernetes.io/name"]))
		if err != nil {
			t.Fatalf("read the selector: %v", err)
		}
		rests := d.Spec.Replicas != nil && *d.Spec.Replicas == 0
		starts := selector.Matches(labels.Set(d.Labels))
		if starts && rests {
			t.Errorf("it starts %s, which rests", d.Name)
		}
		if starts {
			started++
		}
		if rests {
			resting++
		}
	}
	if started < 8 || resting == 0 {
		t.Errorf("it starts %d Deployments, and %d rest", started, resting)
	}
}

// podOf is the pod to which a word of runbooks/commands.md leads in a cluster.
func podOf(t *testing.T, overlay, word string) (pod corev1.PodSpec) {
	t.Helper()
	typing, err := os.ReadFile(filepath.Join(root, "docs", "runbooks", "commands.md"))
	if err != nil {
		t.Fatalf("read the page of the words: %v", err)
	}
	m := regexp.MustCompile(`(?m)^` + word + `\(\) \{ in_pod ([a-z-]+) `).FindSubmatch(typing)
	for _, d := range of[appsv1.Deployment](build(t, overlay)) {
		if m != nil && d.Name == string(m[1]) {
			return d.Spec.Template.Spec
		}
	}
	t.Fatalf("%s: no Deployment for the word %s", overlay, word)
	return pod
}

// keeps says whether a pod's user may write to a volume in a directory, and the volume outlives the pod.
func keeps(pod corev1.PodSpec, directory string) bool {
	group := pod.SecurityContext.FSGroup
	return slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.MountPath == directory && !m.ReadOnly && slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
			return v.Name == m.Name && v.PersistentVolumeClaim != nil && group != nil && *group == *pod.SecurityContext.RunAsUser
		})
	})
}

// read adds the commands of a program from its usage: a form a line. A form is words, and then what they take. The
// first one lists the commands that take nothing.
func (u usages) read(program, usage string) {
	_, usage, _ = strings.Cut(usage, "usage: ")
	for form := range strings.Lines(usage) {
		form, ok := strings.CutPrefix(strings.TrimSpace(form), program+" ")
		if list, bare := strings.CutPrefix(form, "["); bare && ok {
			for name := range strings.SplitSeq(strings.TrimSuffix(list, "]"), " | ") {
				u[program+" "+name] = nil
			}
		} else if ok {
			name := strings.Join(append([]string{program}, leading(strings.Fields(form))...), " ")
			u[name] = append(u[name], flag.FindAllString(form, -1)...)
		}
	}
}

// wrong lists the commands in the code of a page that do not exist, and counts all.
func (u usages) wrong(page string) (checked int, problems []string) {
	for _, words := range commands(page) {
		checked++
		if !u.has(cmp.Or(aliases[words[0]], words[0]), words[1:]) {
			problems = append(problems, strings.Join(words, " "))
		}
	}
	return checked, problems
}

// commands are the commands in the code of a page, each with the name of its program first.
func commands(page string) (all [][]string) {
	code := blocks.FindAllString(page, -1)
	for _, s := range span.FindAllString(blocks.ReplaceAllString(page, ""), -1) {
		code = append(code, strings.ReplaceAll(s, "\n", " "))
	}
	for _, c := range code {
		for _, command := range between.Split(strings.ReplaceAll(c, "\\\n", " "), -1) {
			words := strings.Fields(strings.Trim(command, "`"))
			i := slices.IndexFunc(words, func(w string) bool {
				name := filepath.Base(w)
				return name == "make" || name == "causeway" || aliases[name] != "" || slices.Contains(programs, name)
			})
			if i < 0 || i+1 == len(words) || slices.Contains([]string{"for", "k8s/rollout"}, words[0]) || filepath.Base(words[i]) == "causeway" || !word.MatchString(strings.ReplaceAll(words[i+1], "/", "")) {
				continue
			}
			all = append(all, append([]string{filepath.Base(words[i])}, words[i+1:]...))
		}
	}
	return all
}

// has says whether a program has a command with these flags. A page may name the beginning of several commands.
func (u usages) has(program string, words []string) bool {
	if program == "make" {
		_, ok := u["make "+words[0]]
		return ok || strings.HasPrefix(words[0], "image/")
	}
	flags := flag.FindAllString(strings.Join(words, " "), -1)
	for n := len(leading(words)); n > 0; n-- {
		name := program + " " + strings.Join(words[:n], " ")
		if known, ok := u[name]; ok {
			return !slices.ContainsFunc(flags, func(f string) bool { return !slices.Contains(known, f) })
		}
		for k := range u {
			if strings.HasPrefix(k, name+" ") && n == len(leading(words)) && len(flags) == 0 {
				return true
			}
		}
	}
	return false
}

// leading are the words of a command before what it takes.
func leading(words []string) []string {
	for i, w := range words {
		if !word.MatchString(w) {
			return words[:i]
		}
	}
	return words
}
