package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"causeway.internal/deploy/stack/internal/toxic"
)

// toxic forwards NAME=LISTEN=TARGET addresses until it is stopped, steered by HTTP on the first word. A target may be
// several addresses with commas between. `up --toxic` and `up --cluster` start it as a process of the instance.
func (l *launcher) toxic(ctx context.Context) error {
	if len(l.words) < 2 {
		return errors.New("usage: stack toxic CONTROL NAME=LISTEN=TARGET[,TARGET …] …")
	}
	doors := map[string]*toxic.Door{}
	for _, word := range l.words[1:] {
		part := strings.Split(word, "=")
		if len(part) != 3 {
			return fmt.Errorf("%q is not NAME=LISTEN=TARGET", word)
		}
		door, err := toxic.Open(part[1], strings.Split(part[2], ",")...)
		if err != nil {
			return err
		}
		defer door.Close() //nolint:errcheck // the program ends
		doors[part[0]] = door
	}
	server := &http.Server{
		Addr: l.words[0], Handler: toxic.Control(doors),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listen for control: %w", err)
	}
	return nil
}
