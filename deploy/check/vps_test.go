package check

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// The installation on one server (docs/vps.md).
var (
	vpsFiles   = filepath.Join(root, "deploy", "vps")
	vpsSetting = regexp.MustCompile(`(?m)^([A-Z_]+)=(.*)$`)
	vpsUse     = regexp.MustCompile(`\$\{([A-Z_]+)`)
)

// vpsSettings are what an operator fills in at least.
var vpsSettings = map[string]string{
	"PUBLIC_HOST": "pay.example", "OPERATORS_HOST": "operators.example", "OPERATORS_NETWORKS": "203.0.113.0/24", "ACME_EMAIL": "ops@pay.example",
}

// installed is a directory in which `causeway init` has made secrets, and what it printed. An engine without a volume
// is first in the path.
func installed(t *testing.T) (dir, printed string) {
	t.Helper()
	dir = t.TempDir()
	engine(t, dir, "exit 1")
	printed = causeway(t, dir, "init")
	fillIn(t, dir, vpsSettings)
	return dir, printed
}

// engine makes a fake of docker.
func engine(t *testing.T, dir, script string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "path"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "path", "docker"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func causewayCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(vpsFiles, "causeway"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "CAUSEWAY_DIR="+dir, "PATH="+filepath.Join(dir, "path")+":"+os.Getenv("PATH"))
	return cmd
}

func causeway(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := causewayCommand(t, dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("causeway %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// fillIn changes lines of .env.
func fillIn(t *testing.T, dir string, settings map[string]string) {
	t.Helper()
	path := filepath.Join(dir, ".env")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := vpsSetting.ReplaceAllStringFunc(string(raw), func(line string) string {
		name, _, _ := strings.Cut(line, "=")
		if value, ok := settings[name]; ok {
			return name + "=" + value
		}
		return line
	})
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// vps loads the compose file as the script has docker load it.
func vps(t *testing.T, dir string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(vpsFiles, "compose.yml")},
		cli.WithName("causeway"), cli.WithWorkingDirectory(vpsFiles), cli.WithEnv([]string{"STATE=" + dir, "VERSION=v1"}),
		cli.WithEnvFiles(filepath.Join(dir, ".env")), cli.WithDotEnv)
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatalf("load deploy/vps/compose.yml: %v", err)
	}
	return project
}

func environment(s types.ServiceConfig) map[string]string {
	all := map[string]string{}
	for name, value := range s.Environment {
		if value != nil {
			all[name] = *value
		}
	}
	return all
}

// TestVPS_compose loads the compose file with the secrets of one installation.
func TestVPS_compose(t *testing.T) {
	t.Parallel()
	dir, _ := installed(t)
	project := vps(t, dir)
	t.Run("settings", func(t *testing.T) { complete(t, project) })
	t.Run("bounds", func(t *testing.T) { bounded(t, project, dir) })
	t.Run("images", func(t *testing.T) { sameImages(t, project) })
	t.Run("bucket", func(t *testing.T) {
		bucket := map[string]string{
			"BACKUP_BUCKET": "backups", "BACKUP_ENDPOINT": "s3.example", "BACKUP_REGION": "eu", "BACKUP_ACCESS_KEY_ID": "id", "BACKUP_SECRET_ACCESS_KEY": "secret",
		}
		settings := map[string]string{"BACKUP": "bucket"}
		maps.Copy(settings, bucket)
		fillIn(t, dir, settings)
		set := environment(vps(t, dir).Services["postgres"])
		for name, value := range bucket {
			name = strings.NewReplacer("BACKUP_", "PGBACKREST_REPO1_S3_", "ACCESS_KEY_ID", "KEY", "SECRET_ACCESS_KEY", "KEY_SECRET").Replace(name)
			if set[name] != value {
				t.Errorf("pgBackRest has %s=%q, want %q", name, set[name], value)
			}
		}
		if set["PGBACKREST_REPO1_TYPE"] != "s3" || set["PGBACKREST_REPO1_CIPHER_PASS"] == "" {
			t.Errorf("pgBackRest writes to %s, encrypted: %t", set["PGBACKREST_REPO1_TYPE"], set["PGBACKREST_REPO1_CIPHER_PASS"] != "")
		}
	})
}

// TestVPS_quotes: a value with $ or # reaches its service whole in single quotes, as env.example says, and not without.
func TestVPS_quotes(t *testing.T) {
	t.Parallel()
	dir, _ := installed(t)
	const value = "smtps://mailer:p$word$$HOME #1#2@mail.example:465"
	if err := os.WriteFile(filepath.Join(dir, "settings", "payments.env"), []byte("LOG_LEVEL='"+value+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fillIn(t, dir, map[string]string{"SMTP_URL": "'" + value + "'", "FLUTTERWAVE_KEY": value})
	project := vps(t, dir)
	for name, got := range map[string]string{
		"SMTP_URL of .env": environment(project.Services["console"])["SMTP_URL"], "a setting of settings/payments.env": environment(project.Services["payments"])["LOG_LEVEL"],
	} {
		if got != value {
			t.Errorf("read %s in single quotes: got %q, want %q", name, got, value)
		}
	}
	if bare := environment(project.Services["payments"])["FLUTTERWAVE_KEY"]; bare == value {
		t.Error("a value with $ and # needs no quotes: say so in env.example")
	}
}

// complete: every service has the settings that it requires and no unknown one, live mode is as strict as in
// production, and nothing is swept.
func complete(t *testing.T, project *types.Project) {
	tables := documented(t)
	for _, name := range services {
		set := environment(project.Services[name])
		for variable := range set {
			if _, ok := tables[name][variable]; !ok {
				t.Errorf("%s: %s is not a setting", name, variable)
			}
		}
		for variable, s := range tables[name] {
			if s.required && set[variable] == "" && variable != "DATABASE_OWNER_URL" {
				t.Errorf("%s: %s is required and not set", name, variable)
			}
		}
		want := map[string]string{"OPERATOR_TOKENS": "", "OTEL_EXPORTER_OTLP_ENDPOINT": "", "ALLOW_SIMULATED_LIVE": "", "SIGNER_SOCKET": "", "CALLBACK_ALLOW_LIVE": "", "LIMITS_SKIP_LOOPBACK": ""}
		if name != "gateway" {
			want["BOUND_IDENTITIES_ONLY"] = "true"
		}
		if slices.Contains(workers, name) {
			want["SIGNED_MESSAGES_ONLY"] = "true"
		}
		if name == "payments" {
			want["ALLOW_SIMULATED_LIVE"] = "false"
		}
		for variable, value := range want {
			if set[variable] != value {
				t.Errorf("%s: %s is %q, want %q", name, variable, set[variable], value)
			}
		}
		for variable, value := range set {
			if strings.HasSuffix(variable, "_SWEEP_TREASURY") {
				t.Errorf("%s: %s is %q, want no sweeps before the ceremony", name, variable, value)
			}
		}
		if owner := environment(project.Services[name+"-migrate"]); len(owner) != 1 || owner["DATABASE_OWNER_URL"] == "" {
			t.Errorf("%s-migrate knows %v, want the owner's database alone", name, slices.Collect(maps.Keys(owner)))
		}
	}
	if set := environment(project.Services["gateway"]); set["SECOND_OPERATOR"] != "true" || set["TRUSTED_PROXIES"] != project.Services["caddy"].Networks["front"].Ipv4Address+"/32" {
		t.Errorf("the gateway has SECOND_OPERATOR=%s and trusts %s", set["SECOND_OPERATOR"], set["TRUSTED_PROXIES"])
	}
}

// bounded: every container is bounded in memory, processors and logs, has no rights that it does not need, and
// is asked for its health. One publishes ports.
func bounded(t *testing.T, project *types.Project, dir string) {
	memory := int64(0)
	for name, service := range project.Services {
		limits := service.Deploy
		if limits == nil || limits.Resources.Limits == nil || limits.Resources.Limits.MemoryBytes == 0 || limits.Resources.Limits.NanoCPUs == 0 {
			t.Errorf("%s is not bounded", name)
			continue
		}
		migration := strings.HasSuffix(name, "-migrate")
		if !migration {
			memory += int64(limits.Resources.Limits.MemoryBytes)
		}
		if service.Logging == nil || service.Logging.Options["max-size"] == "" || service.Logging.Options["max-file"] == "" {
			t.Errorf("the log of %s grows for ever", name)
		}
		if !slices.Equal(service.CapDrop, []string{"ALL"}) || !slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s keeps rights: drops %v, %v", name, service.CapDrop, service.SecurityOpt)
		}
		if !service.ReadOnly && name != "rabbitmq" {
			t.Errorf("%s may write to its root", name)
		}
		if len(service.CapAdd) > 0 && name != "caddy" {
			t.Errorf("%s has %v", name, service.CapAdd)
		}
		if service.HealthCheck == nil && !migration {
			t.Errorf("%s is not asked for its health", name)
		}
		if image, tag, _ := cutLast(service.Image, ":"); tag == "" || tag == "latest" || image == "" {
			t.Errorf("%s runs no fixed version: %s", name, service.Image)
		}
		var ports []string
		for _, p := range service.Ports {
			ports = append(ports, p.Published)
		}
		if name == "caddy" && !slices.Equal(ports, []string{"80", "443"}) || name != "caddy" && len(ports) > 0 {
			t.Errorf("%s publishes %v", name, ports)
		}
		for _, volume := range service.Volumes {
			own := strings.HasPrefix(volume.Source, dir) || strings.HasPrefix(volume.Source, "/var/backups/")
			if _, err := os.Stat(volume.Source); volume.Type == types.VolumeTypeBind && err != nil && !own {
				t.Errorf("%s mounts a file that is not there: %v", name, err)
			}
		}
	}
	if most := int64(8 << 30); memory > most {
		t.Errorf("all containers may take %d MiB, and docs/vps.md names a server of %d", memory>>20, most>>20)
	}
	for name, want := range map[string][]string{
		"caddy": {"front"}, "gateway": {"data", "front", "inside"}, "rabbitmq": {"data"}, "postgres": {"data", "outside"},
		"reports": {"data", "inside"}, "payments-migrate": {"data"},
	} {
		if got := slices.Sorted(maps.Keys(project.Services[name].Networks)); !slices.Equal(got, want) {
			t.Errorf("%s is on %v, want %v", name, got, want)
		}
	}
	for name, network := range project.Networks {
		if alone := network.DriverOpts["com.docker.network.bridge.enable_icc"] == "false"; !bool(network.Internal) && !alone && name != "front" {
			t.Errorf("containers reach each other and the internet on %s", name)
		}
	}
}

// TestVPS_disks: status looks at every disk that the installation fills, that of Docker's volumes and that of the
// backups too, each once.
func TestVPS_disks(t *testing.T) {
	t.Parallel()
	dir, _ := installed(t)
	place := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	docker, backups := place("docker"), place("backups")
	fillIn(t, dir, map[string]string{"BACKUP_DIRECTORY": backups})
	engine(t, dir, `case "$*" in info*) echo `+docker+` ;; *" ps "*) ;; *) exit 1 ;; esac`)
	df := func(full string) string {
		script := `#!/bin/sh
echo Filesystem 1024-blocks Used Available Capacity Mounted on
for place; do
	case $place in
	-P) ;;
	*/gone) echo "df: $place: No such file or directory" >&2 && failed=1 ;;
	` + full + `) echo /dev/full 100 97 3 97% $place ;;
	` + docker + " | " + backups + `) echo /dev/wide 100 40 60 40% /mnt/wide ;;
	*) echo /dev/root 100 50 50 50% / ;;
	esac
done
exit ${failed:-0}
`
		if err := os.WriteFile(filepath.Join(dir, "path", "df"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := causewayCommand(t, dir, "status").CombinedOutput()
		if err == nil {
			t.Errorf("status succeeds where nothing runs: %s", out)
		}
		return string(out)
	}
	for _, full := range []string{docker, backups, filepath.Join(dir, "run")} {
		if said := df(full); !strings.Contains(said, "!! the disk of "+full+" is 97 % full") {
			t.Errorf("status says %s, want that the disk of %s is full", said, full)
		}
	}
	if said := df("nothing"); strings.Count(said, "disk of /mnt/wide: 40 % full") != 1 || strings.Contains(said, "!! the disk") {
		t.Errorf("status says %s, want each disk once and none full", said)
	}
	fillIn(t, dir, map[string]string{"BACKUP_DIRECTORY": filepath.Join(dir, "gone")})
	if said := df("nothing"); !strings.Contains(said, "!! df does not measure all of ") || !strings.Contains(said, "disk of /mnt/wide: 40 % full") {
		t.Errorf("status says %s, want that it cannot measure the disk of the backups", said)
	}
	engine(t, dir, `case "$*" in *" ps "*) ;; *) exit 1 ;; esac`)
	if said := df("nothing"); !strings.Contains(said, "!! Docker does not say where its volumes are") {
		t.Errorf("status says %s, want that it does not know the disk of Docker's volumes", said)
	}
}

// TestVPS_names: the names in compose.yml and in env.example are the same, so that no setting is without effect, and no
// secret has a value in either.
func TestVPS_names(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(vpsFiles, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	used := map[string]bool{"BACKUP": true}
	for _, name := range []string{"compose.yml", "backup-directory.env", "backup-bucket.env"} {
		for _, m := range vpsUse.FindAllStringSubmatch(read(name), -1) {
			used[m[1]] = true
		}
	}
	for _, own := range []string{"VERSION", "REVISION", "STATE", "RECOVERY"} { // of the script
		delete(used, own)
	}
	tables := documented(t)
	secret := func(name string) bool {
		for _, table := range tables {
			if _, ok := table[name+"_FILE"]; ok {
				return true
			}
		}
		return strings.Contains(name, "PASS") || strings.Contains(name, "ACCESS_KEY")
	}
	given := map[string]bool{}
	for _, m := range vpsSetting.FindAllStringSubmatch(read("env.example"), -1) {
		given[m[1]] = true
		if secret(m[1]) && m[2] != "" {
			t.Errorf("env.example gives %s a value", m[1])
		}
	}
	if !maps.Equal(used, given) {
		t.Errorf("compose.yml uses %v, env.example has %v", slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(given)))
	}
	value := regexp.MustCompile(`(?m)^\s+([A-Z][A-Z0-9_]+): (.+)$`)
	for _, m := range value.FindAllStringSubmatch(read("compose.yml"), -1) {
		if secret(m[1]) && m[2] != "${"+m[1]+":-}" && !strings.HasPrefix(m[1], "XPUB_TEST_") {
			t.Errorf("compose.yml gives %s the value %s", m[1], m[2])
		}
	}
}

// sameImages: the images are those of docker-compose.yml, built by one recipe, and the same servers.
func sameImages(t *testing.T, here *types.Project) {
	there := compose(t, "*")
	for _, name := range services {
		one, other := here.Services[name].Build, there.Services[name].Build
		if other == nil {
			other = there.Services[name+"-migrate"].Build
		}
		if name == "console-operators" { // the image of console
			continue
		}
		if one == nil || one.Dockerfile != other.Dockerfile || *one.Args["MODULE"] != *other.Args["MODULE"] {
			t.Errorf("%s is built from %+v, want %+v", name, one, other)
		}
		if want := "causeway/" + name + ":v1"; here.Services[name].Image != want || here.Services[name+"-migrate"].Image != want {
			t.Errorf("%s runs %s", name, here.Services[name].Image)
		}
	}
	for _, name := range []string{"rabbitmq", "prometheus"} {
		if here.Services[name].Image != there.Services[name].Image {
			t.Errorf("%s is %s here and %s in docker-compose.yml", name, here.Services[name].Image, there.Services[name].Image)
		}
	}
	recipe, err := os.ReadFile(filepath.Join(vpsFiles, "postgres", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(recipe, []byte("FROM "+there.Services["postgres"].Image+"\n")) {
		t.Errorf("PostgreSQL is built on another image than %s", there.Services["postgres"].Image)
	}
}

// TestVPS_secrets: init makes every secret once, in files for root alone, and shows none. Public halves and the
// broker's hashes belong to them.
func TestVPS_secrets(t *testing.T) {
	t.Parallel()
	dir, printed := installed(t)
	before := secretsOf(t, dir)
	seen := map[string]string{}
	for name, value := range before {
		if other, taken := seen[value]; taken || len(value) < 44 {
			t.Errorf("the secret %s is as %q, or short", name, other)
		}
		seen[value] = name
		bare := value[strings.LastIndex(value, ":")+1:]
		if strings.Contains(printed, bare) {
			t.Errorf("init shows the secret %s", name)
		}
	}
	if least := 45; len(before) < least {
		t.Errorf("init made %d secrets, want at least %d", len(before), least)
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path, filepath.Join(dir, "path")) || entry.Name() == "definitions.json" {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secrets", "run"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s can be entered: %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "secrets", "reports.event")); err != nil { // as before a release that adds it
		t.Fatal(err)
	}
	if again := causeway(t, dir, "init"); again != "made secrets/reports.event\n" {
		t.Errorf("a second init says %q", again)
	}
	after := secretsOf(t, dir)
	delete(before, "reports.event")
	delete(after, "reports.event")
	if !maps.Equal(before, after) {
		t.Error("a second init changes secrets")
	}

	// A key that is being replaced: its public half is known beside the one in use, which is the first.
	second := "k2:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	if err := os.WriteFile(filepath.Join(dir, "secrets", "wallets.message"), []byte(before["wallets.message"]+","+second+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	causeway(t, dir, "init")
	project := vps(t, dir)
	set := func(service string) map[string]string { return environment(project.Services[service]) }
	half := func(seed string) string {
		raw, err := base64.StdEncoding.DecodeString(seed[strings.LastIndex(seed, ":")+1:])
		if err != nil || len(raw) != ed25519.SeedSize {
			t.Fatalf("%q is no seed: %v", seed, err)
		}
		return base64.StdEncoding.EncodeToString(ed25519.NewKeyFromSeed(raw).Public().(ed25519.PublicKey))
	}
	if got := set("wallets")["MESSAGE_KEY"]; got != before["wallets.message"] {
		t.Error("wallets does not sign with the first of its keys")
	}
	want := "wallets/k1:" + half(before["wallets.message"]) + ",wallets/k2:" + half(second) + ",reports/k1:" + half(before["reports.message"]) +
		",callback-dispatcher/k1:" + half(before["callback-dispatcher.message"])
	if got := set("payments")["MESSAGE_PUBLIC_KEYS"]; got != want {
		t.Errorf("payments verifies with %s, want %s", got, want)
	}
	want = "merchant:" + half(before["console.door"]) + ",operator:" + half(before["console-operators.door"])
	if got := set("gateway")["CONSOLE_KEYS"]; got != want {
		t.Errorf("the gateway knows the doors %s, want %s", got, want)
	}
	for service, variable := range map[string]string{
		"payments": "PAYMENTS", "wallets": "WALLETS", "reports": "REPORTS", "callback-dispatcher": "DISPATCHER",
		"console": "CONSOLE", "console-operators": "CONSOLE_OPERATORS",
	} {
		if got := set("gateway")[variable+"_IDENTITY_KEYS"]; got != set(service)["IDENTITY_KEYS"] {
			t.Errorf("the gateway signs identities for %s with another key", service)
		}
	}
	passwords := set("postgres")
	for _, service := range services {
		db := strings.ReplaceAll(service, "-", "_")
		for role, url := range map[string]string{"app": set(service)["DATABASE_URL"], "owner": set(service + "-migrate")["DATABASE_OWNER_URL"]} {
			if want := "postgres://" + db + "_" + role + ":" + passwords[strings.ToUpper(db+"_"+role)+"_PASSWORD"] + "@postgres/" + db; url != want {
				t.Errorf("%s: PostgreSQL knows %s by another password", service, db+"_"+role)
			}
		}
	}
	hashes := hashesIn(t, filepath.Join(dir, "run", "definitions.json"))
	for user, is := range hashes {
		if !is(before["rabbitmq."+user]) {
			t.Errorf("RabbitMQ knows %s by another password", user)
		}
	}
	for user, is := range passwordHashes(t) {
		if hashes[user] == nil || is(before["rabbitmq."+user]) {
			t.Errorf("RabbitMQ's %s is that of docker-compose.yml", user)
		}
	}
}

func secretsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range under(t, filepath.Join(dir, "secrets")) {
		raw, err := os.ReadFile(filepath.Join(dir, "secrets", name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = strings.TrimSpace(string(raw))
	}
	return all
}

// TestVPS_refusals: the script says what is wrong, and changes nothing.
func TestVPS_refusals(t *testing.T) {
	t.Parallel()
	dir, _ := installed(t)
	for name, c := range map[string]struct {
		settings map[string]string
		args     []string
		want     string
	}{
		"nothing filled in":     {map[string]string{"PUBLIC_HOST": "", "ACME_EMAIL": ""}, []string{"up"}, "fill in PUBLIC_HOST ACME_EMAIL in"},
		"a bucket without keys": {map[string]string{"BACKUP": "bucket"}, []string{"up"}, "fill in BACKUP_BUCKET BACKUP_ENDPOINT BACKUP_REGION BACKUP_ACCESS_KEY_ID BACKUP_SECRET_ACCESS_KEY"},
		"an unknown target":     {map[string]string{"BACKUP": "tape"}, []string{"backup"}, "neither directory nor bucket"},
		"one host":              {map[string]string{"OPERATORS_HOST": "pay.example"}, []string{"up"}, "operators need a host of their own"},
		"everybody operates":    {map[string]string{"OPERATORS_NETWORKS": "203.0.113.0/24 0.0.0.0/0"}, []string{"up"}, "lets everybody in"},
		"nothing but quotes":    {map[string]string{"ACME_EMAIL": "''"}, []string{"up"}, "fill in ACME_EMAIL in"},
		"one host in quotes":    {map[string]string{"OPERATORS_HOST": "'pay.example'"}, []string{"up"}, "operators need a host of their own"},
		"everybody in quotes":   {map[string]string{"OPERATORS_NETWORKS": `"0.0.0.0/0"`}, []string{"up"}, "lets everybody in"},
		"a remark":              {map[string]string{"OPERATORS_NETWORKS": "0.0.0.0/0 # for now"}, []string{"up"}, "lets everybody in"},
		"no moment":             {nil, []string{"restore", "yesterdayish"}, "is no time"},
		"a moment to come":      {nil, []string{"restore", "2999-01-01", "00:00:00Z"}, "has not come yet"},
		"no recovery":           {nil, []string{"recovered"}, "there is no recovery to end"},
		"no such service":       {nil, []string{"do", "postgres", "books"}, "postgres is none of"},
		"no such mode":          {nil, []string{"key", "prod", "acme"}, "a key is test or live, not prod"},
		"no such version":       {nil, []string{"upgrade", "v99.0.0"}, "causeway: "},
		"too few words":         {nil, []string{"upgrade"}, "usage: causeway VERB"},
	} {
		t.Run(name, func(t *testing.T) {
			engine(t, dir, `case "$*" in volume*) exit 1 ;; *build* | *pull*) ;; *) echo "$*" >>`+dir+`/calls ;; esac`)
			settings := map[string]string{"BACKUP": "directory"}
			maps.Copy(settings, vpsSettings)
			maps.Copy(settings, c.settings)
			fillIn(t, dir, settings)
			out, err := causewayCommand(t, dir, c.args...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("causeway %s: %v, %s, want %q", strings.Join(c.args, " "), err, out, c.want)
			}
			if calls, err := os.ReadFile(filepath.Join(dir, "calls")); err == nil {
				t.Errorf("causeway %s called docker: %s", strings.Join(c.args, " "), calls)
			}
		})
	}
	t.Run("databases without their secrets", func(t *testing.T) {
		dir := t.TempDir()
		engine(t, dir, "exit 0")
		out, err := causewayCommand(t, dir, "init").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "new secrets open nothing") || len(secretsOf(t, dir)) > 0 {
			t.Errorf("init beside databases: %v, %s", err, out)
		}
	})
}

// TestVPS_upgrade: backup, sources, images, servers, every migration, then the services in their order, each waited
// for. A step that fails ends it, and it can go back.
func TestVPS_upgrade(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	git := gitIn(t, home)
	for _, part := range []string{"vps", "rabbitmq"} {
		if err := os.CopyFS(filepath.Join(home, "deploy", part), os.DirFS(filepath.Join(root, "deploy", part))); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet")
	git("add", ".")
	git("commit", "--quiet", "-m", "one")
	git("tag", "v1.0.0")
	git("commit", "--quiet", "--allow-empty", "-m", "two")
	git("tag", "v1.1.0")
	git("tag", "-m", "of a client, which is no version of the product", "sdk/go/v1.1.0")
	git("checkout", "--quiet", "v1.0.0")
	dir, _ := installed(t)
	fillIn(t, dir, map[string]string{"BACKUP_DIRECTORY": filepath.Join(dir, "backup")})
	run := func(verb string, args ...string) ([]string, string, error) {
		t.Helper()
		_ = os.Remove(filepath.Join(dir, "calls"))
		cmd := causewayCommand(t, dir, append([]string{verb}, args...)...)
		cmd.Path = filepath.Join(home, "deploy", "vps", "causeway")
		out, err := cmd.CombinedOutput()
		calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
		return strings.Split(strings.TrimSpace(string(calls)), "\n"), string(out), err
	}
	record := `shift; while [ "${1#--}" != "$1" ]; do shift 2; done; echo "$VERSION $*" >>` + dir + `/calls
case "$*" in *"$BAD"*) exit 1 ;; *info*) echo 'full backup' ;; esac`
	engine(t, dir, "BAD=never\n"+record)
	want := []string{
		"v1.0.0 exec -T postgres pg_isready --quiet --username postgres", "v1.0.0 exec -T postgres pgbackrest --type=diff backup",
		"v1.1.0 build --quiet", "v1.1.0 up --detach --no-deps --wait postgres rabbitmq",
	}
	calls, out, err := run("upgrade", "v1.1.0")
	if err != nil || len(calls) < 20 || !strings.Contains(out, "To go back: causeway upgrade v1.0.0") {
		t.Fatalf("upgrade to v1.1.0: %v, %q\n%s", err, calls, out)
	}
	calls = slices.DeleteFunc(calls, func(c string) bool {
		return strings.HasSuffix(c, "inspect causeway_postgres") || strings.Contains(c, "version")
	})
	if got := calls[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("the upgrade begins with %q, want %q", got, want)
	}
	var order, migrated []string
	for _, call := range calls {
		words := strings.Fields(call)
		last := words[len(words)-1]
		switch {
		case strings.HasSuffix(call, "-migrate"):
			if len(order) > 0 {
				t.Errorf("%s comes after %v was replaced", call, order)
			}
			migrated = append(migrated, strings.TrimSuffix(last, "-migrate"))
		case strings.Contains(call, " up ") && slices.Contains(services, last):
			order = append(order, last)
		}
	}
	slices.Sort(migrated)
	if !slices.Equal(migrated, services) {
		t.Errorf("migrated %v, want %v", migrated, services)
	}
	if want := []string{"callback-dispatcher", "gateway", "payments", "wallets", "reports", "console", "console-operators"}; !slices.Equal(order, want) {
		t.Errorf("replaced %v, want %v", order, want)
	}

	engine(t, dir, "BAD=wallets-migrate\n"+record)
	calls, out, err = run("upgrade", "v1.0.0")
	if err == nil || !strings.Contains(out, "or go back: causeway upgrade v1.1.0") || strings.Contains(strings.Join(calls, "\n"), "--wait gateway") {
		t.Errorf("a migration failed, and the upgrade went on: %v, %q\n%s", err, calls, out)
	}
	engine(t, dir, "BAD=never\n"+record)
	if _, out, err = run("upgrade", "v1.0.0"); err != nil || !strings.Contains(out, "Version v1.0.0 runs. To go back: causeway upgrade v1.1.0") {
		t.Errorf("the upgrade again: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(home, "deploy", "vps", "Caddyfile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if calls, out, err = run("upgrade", "v1.1.0"); err == nil || !strings.Contains(out, "the sources were changed") || len(calls) > 1 {
		t.Errorf("an upgrade of changed sources: %v, %q\n%s", err, calls, out)
	}
}

// found is a program that deploy/check/program finds or unpacks.
func found(t *testing.T, name, pack string) string {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "deploy", "check", "program"), name, pack)
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("find %s: %v\n%s", name, err, &log)
	}
	return strings.TrimSpace(string(out))
}

func TestVPS_shell(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), found(t, "shellcheck", "shellcheck"), filepath.Join(vpsFiles, "causeway")).CombinedOutput()
	if err != nil {
		t.Errorf("shellcheck: %v\n%s", err, out)
	}
}

// TestVPS_routes: Caddy itself, on this machine and without TLS, passes the paths that production's ingress passes, and
// no other. Operators' paths are on their host alone, for their networks.
func TestVPS_routes(t *testing.T) {
	t.Parallel()
	var asked []string
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("X-Forwarded-For"))
		w.Header().Set("Reached", r.URL.Path)
	}))
	defer gateway.Close()
	caddy := func(networks, upstream string) (ask func(host, path string) *http.Response, log *bytes.Buffer) {
		port := freePort(t)
		log = &bytes.Buffer{}
		raw, err := os.ReadFile(filepath.Join(vpsFiles, "Caddyfile"))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "Caddyfile")
		text := strings.ReplaceAll(string(raw), ":2020", ":"+freePort(t))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), found(t, "caddy", "caddy"), "run", "--config", file, "--adapter", "caddyfile")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "ACME_EMAIL=a@example.org", "GATEWAY="+upstream, "OPERATORS_NETWORKS="+networks,
			"PUBLIC_HOST=http://pay.example:"+port, "OPERATORS_HOST=http://operators.example:"+port)
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		ask = func(host, path string) *http.Response {
			for deadline := time.Now().Add(20 * time.Second); ; {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Host, r.URL.Opaque = host+":"+port, path
				r.Header.Set("X-Forwarded-For", "198.51.100.1")
				response, err := http.DefaultTransport.RoundTrip(r)
				if err == nil {
					response.Body.Close()
					return response
				}
				if time.Now().After(deadline) {
					t.Fatalf("ask Caddy for %s: %v\n%s", path, err, log)
				}
			}
		}
		return ask, log
	}
	upstream := strings.TrimPrefix(gateway.URL, "http://")
	ask, _ := caddy("203.0.113.0/24 127.0.0.0/8", upstream)
	reached := func(host, path string) bool {
		t.Helper()
		response := ask(host, path)
		if is := response.Header.Get("Reached") != ""; is != (response.StatusCode == http.StatusOK) || !is && response.StatusCode != http.StatusNotFound {
			t.Errorf("%s of %s answers %d", path, host, response.StatusCode)
		}
		return response.StatusCode == http.StatusOK
	}
	ingress := build(t, "prod")
	paths := append(described(t), "/", "/console", "/console/sign-in", "/assets/a.css", "/logos/usdt.svg", "/docs", "/openapi.yaml", "/link/lnk_1",
		"/pay/CW-1", "/claim/CW-G1", "/v1", "/v1/", "/v1/admin", "/v1/admin/payments", "/V1/ADMIN/payments", "/v1/paymentsx", "/metrics", "/healthz",
		"/operators", "/operators/sign-in", "/debug/pprof", "/.env")
	for _, path := range paths {
		if got, want := reached("pay.example", path), len(entrances(t, ingress, path)) > 0; got != want {
			t.Errorf("%s reaches the gateway: %t, and by the ingress: %t", path, got, want)
		}
		want := path == "/operators" || strings.HasPrefix(path, "/operators/") || strings.HasPrefix(strings.ToLower(path)+"/", "/v1/admin/")
		if got := reached("operators.example", path); got != want {
			t.Errorf("%s reaches the gateway from an operator: %t, want %t", path, got, want)
		}
	}
	for _, path := range []string{"/v1/payments/../admin/payments", "/v1/payments/%2e%2e/admin/payments", "/pay//../v1/admin/x", "/v1//admin/x", "/./v1/admin/x", "/console/../operators"} {
		if reached("pay.example", path) {
			t.Errorf("%s reaches the gateway", path)
		}
	}
	if slices.ContainsFunc(asked, func(a string) bool { return a != "127.0.0.1" }) {
		t.Errorf("the gateway is given another address than the caller's: %q", slices.Compact(slices.Sorted(slices.Values(asked))))
	}
	elsewhere, log := caddy("203.0.113.0/24", "127.0.0.1:1")
	for _, path := range []string{"/operators/sign-in", "/v1/admin/payments"} {
		if response := elsewhere("operators.example", path); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s answers %d from a network that is none of the operators'", path, response.StatusCode)
		}
	}
	if response := elsewhere("pay.example", "/pay/CW-Gsecret"); response.StatusCode != http.StatusBadGateway {
		t.Errorf("without a gateway Caddy answers %d", response.StatusCode)
	}
	if strings.Contains(log.String(), "CW-Gsecret") {
		t.Errorf("Caddy's log holds a reference:\n%s", log)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
