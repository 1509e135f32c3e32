// Package state keeps what an instance of the stack consists of in its directory: processes, ports, accounts and keys.
// Everything is readable by its owner alone, because it holds secrets. Two locks guard it: the owner's lock, held by
// the launcher that brings an instance up or down or stays with it, and a short one around each change of the file.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"causeway.internal/deploy/stack/internal/process"
)

// Process is one process of an instance with all that is needed to start it again as it was.
type Process struct {
	Name    string       `json:"name"`
	Ref     process.Ref  `json:"ref"`
	Spec    process.Spec `json:"spec"`
	Ready   string       `json:"ready,omitempty"`   // URL that answers 200 once it is usable
	Stopped bool         `json:"stopped,omitempty"` // stopped on purpose: nobody restarts it
	Fenced  bool         `json:"fenced,omitempty"`  // another server became primary in its place: only a rewind lets it start
}

// Server is PostgreSQL or RabbitMQ as the instance sees it.
type Server struct {
	Private bool   `json:"private"`           // started by us; else lent by the environment
	URL     string `json:"url"`               // with the superuser's credentials
	API     string `json:"api,omitempty"`     // RabbitMQ's management API, with credentials
	TLS     string `json:"tls,omitempty"`     // RabbitMQ's URL in TLS; PostgreSQL has one port for both
	Metrics string `json:"metrics,omitempty"` // of a private RabbitMQ
	CA      string `json:"ca,omitempty"`      // file of the authority that certifies a private server

	Nodes []string `json:"nodes,omitempty"` // addresses of a RabbitMQ of several nodes
}

// Product is what a user of a running instance needs.
type Product struct {
	BaseURL       string   `json:"baseUrl"`
	Gateways      []string `json:"gateways,omitempty"` // of every replica, BaseURL first
	APIKey        string   `json:"apiKey"`
	AdminToken    string   `json:"adminToken"`
	SecondToken   string   `json:"secondAdminToken"`
	WebhookSecret string   `json:"webhookSecret"`
}

// State is an instance.
type State struct {
	Dir       string            `json:"dir"`
	Verb      string            `json:"verb"`
	Launcher  process.Ref       `json:"launcher"`
	Prefix    string            `json:"prefix"` // of databases, roles, broker users and the virtual host
	Keep      bool              `json:"keep"`   // the data outlives the instance
	Data      string            `json:"data"`   // where private servers keep their files
	Postgres  Server            `json:"postgres"`
	Rabbit    Server            `json:"rabbit"`
	Processes []Process         `json:"processes"` // in the order of their start
	Product   Product           `json:"product"`
	Databases map[string]string `json:"databases"` // service to the URL of its application role
	Owners    map[string]string `json:"owners"`    // service to the URL of the role that migrates
	Brokers   map[string]string `json:"brokers"`   // service to the AMQP URL of its user

	// Copy is a second place for the file, in the directory of the instance that this one borrows its servers from, so
	// that it can be stopped even when its own directory is gone.
	Copy string `json:"copy,omitempty"`
}

const fileName = "state.json"

// Load reads the state of the directory; no file is an empty state.
func Load(dir string) (*State, error) {
	return LoadFile(filepath.Join(dir, fileName), dir)
}

// LoadFile reads a state file that may lie anywhere; dir is used when there is none.
func LoadFile(path, dir string) (*State, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &State{Dir: dir}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	s := &State{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("read the state in %s: %w", path, err)
	}
	return s, nil
}

// Save writes the state so that a reader, or a crash, sees the old or the new one and never half of it.
func (s *State) Save() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("render the state: %w", err)
	}
	if s.Copy != "" {
		if err := WriteFile(s.Copy, text); err != nil {
			return err
		}
	}
	return WriteFile(filepath.Join(s.Dir, fileName), text)
}

// WriteFile replaces a file whole, readable by its owner alone.
func WriteFile(path string, content []byte) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// Change loads the state, changes it and saves it, one launcher at a time.
func Change(dir string, change func(*State) error) (*State, error) {
	unlock, err := lock(filepath.Join(dir, "state.lock"), true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	s, err := Load(dir)
	if err != nil {
		return nil, err
	}
	if err := change(s); err != nil {
		return nil, err
	}
	return s, s.Save()
}

// Find returns the process of that name.
func (s *State) Find(name string) (*Process, error) {
	for i := range s.Processes {
		if s.Processes[i].Name == name {
			return &s.Processes[i], nil
		}
	}
	return nil, fmt.Errorf("no process %q; there are: %s", name, strings.Join(s.Names(), ", "))
}

// Put adds a process or replaces the one of its name.
func (s *State) Put(p Process) {
	i := slices.IndexFunc(s.Processes, func(q Process) bool { return q.Name == p.Name })
	if i < 0 {
		s.Processes = append(s.Processes, p)
		return
	}
	s.Processes[i] = p
}

// Names lists the processes.
func (s *State) Names() []string {
	names := make([]string, 0, len(s.Processes))
	for _, p := range s.Processes {
		names = append(names, p.Name)
	}
	return names
}

// Running lists the processes that are alive.
func (s *State) Running() []Process {
	var running []Process
	for _, p := range s.Processes {
		if p.Ref.Alive() {
			running = append(running, p)
		}
	}
	return running
}

// NestedDir is where the instances that borrow this one's servers leave copies of their state.
func NestedDir(dir string) string { return filepath.Join(dir, "nested") }

// LogDir is where the processes write.
func LogDir(dir string) string { return filepath.Join(dir, "log") }
