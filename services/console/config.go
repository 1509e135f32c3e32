package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/url"
	"time"

	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/person"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/services/console/internal/mail"
	"causeway.internal/services/console/internal/people"
)

// settings are those of serve.
type settings struct {
	Place
	Gateway   string        `env:"GATEWAY_URL,required" doc:"base URL of the gateway, whose API the console calls in the name of the person who is signed in"`
	DoorKey   config.Secret `env:"DOOR_KEY,required" doc:"base64 of the 32 bytes of this door's ed25519 seed; the gateway lists its public half in CONSOLE_KEYS. Each door has a key of its own"`
	Master    config.Secret `env:"MASTER_KEYS,required" doc:"comma separated id:base64(32 bytes); the first seals the secrets of authenticator apps, the sessions and the cookies of browsers that know an account, all open them"`
	SignUp    bool          `env:"SIGN_UP" envDefault:"true" doc:"merchants may register themselves; each begins as a draft with test keys. It needs the merchants' door, and on https also SMTP_URL: a letter proves an address"`
	HTTPAddr  string        `env:"HTTP_ADDR" envDefault:":8080" doc:"address of the pages, for the gateway alone"`
	OpsAddr   string        `env:"OPS_ADDR" envDefault:":9090" doc:"address of /healthz, /readyz, /metrics and /debug/pprof; keep it private"`
	Drain     time.Duration `env:"DRAIN" envDefault:"20s" doc:"longest time of a stop"`
	Identity  httpkit.IdentitySettings
	Mail      mail.Config
	Postgres  postgres.Config
	Telemetry telemetry.Config
}

// Place says which console this is.
type Place struct {
	Door      string `env:"DOOR,required" doc:"merchant or operator: the people whom this deployment serves. Each has a database and keys of its own"`
	PublicURL string `env:"PUBLIC_URL,required" doc:"address of the host that browsers use, such as https://pay.example: https, or http://localhost. Passkeys belong to its host, which is a name and no address"`
}

// read checks the two.
func (p Place) read() (people.Door, *url.URL, error) {
	door := people.Door(p.Door)
	if door != people.Merchants && door != people.Operators {
		return "", nil, fmt.Errorf("DOOR: %q is neither merchant nor operator", p.Door)
	}
	origin, err := url.Parse(p.PublicURL)
	if err != nil || origin.Host == "" || origin.Scheme != "https" && origin.Scheme != "http" {
		return "", nil, errors.New("PUBLIC_URL: want an address such as https://pay.example")
	}
	if origin.Scheme == "http" && origin.Hostname() != "localhost" {
		return "", nil, errors.New("PUBLIC_URL: only https protects sessions on a host that is not localhost")
	}
	return door, origin, nil
}

// signUp reports whether anybody may make an account. Without letters anybody could make one under another person's
// address, and would get the role that a team later gives to that address.
func (s settings) signUp(at *url.URL, letters bool) bool {
	return s.SignUp && (letters || at.Scheme == "http")
}

func (s settings) keys() (ed25519.PrivateKey, *keyring.Ring, error) {
	key, err := person.ParseKey(s.DoorKey.Reveal())
	if err != nil {
		return nil, nil, fmt.Errorf("DOOR_KEY %w", err)
	}
	ring, err := keyring.Parse(s.Master.Reveal())
	if err != nil {
		return nil, nil, fmt.Errorf("MASTER_KEYS: %w", err)
	}
	return key, ring, nil
}
