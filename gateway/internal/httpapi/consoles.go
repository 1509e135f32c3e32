package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/presence"
)

// consoles are the names of the two consoles.
var consoles = []string{"console", "console-operators"}

// registerConsoles adds the health of each console. The gateway asks the console, and has no processes of one that
// there is not.
func (a *API) registerConsoles(s *httpkit.Server) {
	for _, name := range consoles {
		path := "/v1/admin/health/" + name
		httpkit.Handle(s, "GET "+path, httpkit.ForOperators, func(ctx context.Context, _ healthRequest) (presence.Answer, error) {
			ask := a.Consoles[name]
			if ask == nil {
				return presence.Answer{Processes: []presence.View{}}, nil
			}
			return consoleProcesses(ctx, ask, name, path)
		})
	}
}

// consoleProcesses reads what a console says of itself. It speaks for no other service, even if somebody has taken it
// over.
func consoleProcesses(ctx context.Context, ask Ask, name, path string) (said presence.Answer, err error) {
	reply, err := ask(ctx, path)
	if err != nil {
		return said, err
	}
	if reply.Status != http.StatusOK { // its database is away, or it is of an earlier release
		return said, errEarlier
	}
	if err := json.Unmarshal(reply.Body, &said); err != nil || said.Processes == nil {
		return said, errEarlier.Because(err)
	}
	for i := range said.Processes {
		said.Processes[i].Service = name
	}
	return said, nil
}
