package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/config"
)

type inner struct {
	URL      config.Secret `env:"DATABASE_URL,required" doc:"where the rows live"`
	MaxConns int32         `env:"DATABASE_MAX_CONNS" envDefault:"16" doc:"largest pool"`
}

type settings struct {
	Addr     string          `env:"HTTP_ADDR" envDefault:":8080" doc:"address to listen on"`
	Every    time.Duration   `env:"EVERY" envDefault:"200ms" doc:"how often | how seldom"`
	Keys     []config.Secret `env:"KEYS,required" doc:"signing keys"`
	Schedule []time.Duration `env:"SCHEDULE" envDefault:"5s,30s" doc:"waits"`
	Postgres inner
	Shadow   inner `envPrefix:"SHADOW_"`
}

func complete() map[string]string {
	return map[string]string{"KEYS": "a,b", "DATABASE_URL": "postgres://u:hunter2@h/d", "SHADOW_DATABASE_URL": "postgres://s"}
}

func TestRead(t *testing.T) {
	got, err := config.Read[settings](complete())
	if err != nil {
		t.Fatal(err)
	}
	if got.Addr != ":8080" || got.Every != 200*time.Millisecond || len(got.Keys) != 2 || got.Postgres.MaxConns != 16 ||
		got.Postgres.URL.Reveal() != "postgres://u:hunter2@h/d" || got.Shadow.URL.Reveal() != "postgres://s" || len(got.Schedule) != 2 {
		t.Errorf("read %+v", got)
	}
}

func TestRead_namesEverythingThatIsWrong(t *testing.T) {
	_, err := config.Read[settings](map[string]string{"EVERY": "soon", "DATABASE_MAX_CONNS": "s3cret"})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"KEYS is required", "DATABASE_URL is required", "SHADOW_DATABASE_URL is required", "EVERY is not", "DATABASE_MAX_CONNS is not"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error shows a value: %v", err)
	}
}

func TestRead_secretFromFile(t *testing.T) {
	environ := complete()
	delete(environ, "DATABASE_URL")
	path := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(path, []byte("postgres://file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environ["DATABASE_URL_FILE"] = path
	got, err := config.Read[settings](environ)
	if err != nil || got.Postgres.URL.Reveal() != "postgres://file" {
		t.Errorf("read %q, %v", got.Postgres.URL.Reveal(), err)
	}
	environ["DATABASE_URL"] = "postgres://both"
	if _, err := config.Read[settings](environ); err == nil || !strings.Contains(err.Error(), "both set") {
		t.Errorf("both set: %v", err)
	}
}

func TestRead_everyFieldHasDoc(t *testing.T) {
	type bare struct {
		Name string `env:"NAME"`
	}
	if _, err := config.Read[bare](nil); err == nil {
		t.Error("a field without doc was accepted")
	}
}

func TestSecret_isNeverPrinted(t *testing.T) {
	s := settings{Keys: []config.Secret{"hunter2"}, Postgres: inner{URL: "hunter2"}}
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("start", "settings", s, "url", s.Postgres.URL)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("start", "settings", s, "url", s.Postgres.URL)
	for _, shown := range []string{
		fmt.Sprint(s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s), fmt.Sprintf("%s %q", s.Postgres.URL, s.Keys),
		string(encoded), logged.String(),
	} {
		if strings.Contains(shown, "hunter2") {
			t.Errorf("secret shown: %s", shown)
		}
	}
}

func TestDescribe(t *testing.T) {
	page := config.Describe[settings]("payments")
	for _, want := range []string{
		"## payments\n", "| `HTTP_ADDR` | `:8080` |  | address to listen on |\n", "| `EVERY` | `200ms` |  | how often \\| how seldom |\n",
		"| `SHADOW_DATABASE_URL` |  | yes | where the rows live (secret; `SHADOW_DATABASE_URL_FILE` may name a file instead) |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q:\n%s", want, page)
		}
	}
}
