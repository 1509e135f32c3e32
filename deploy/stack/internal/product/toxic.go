package product

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"causeway.internal/deploy/stack/internal/infra"
	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/state"
	"causeway.internal/libs/testkit/port"
)

// Toxic is the name of the process between the services and their servers; its doors are named after them.
const Toxic = "toxic"

// poison starts the proxy and leads the services' settings through it.
func (p Product) poison(ctx context.Context, one *plan) error {
	st, err := state.Load(p.Dir)
	if err != nil {
		return err
	}
	ports, err := port.Take(3)
	if err != nil {
		return err
	}
	local := func(i int) string { return "127.0.0.1:" + strconv.Itoa(ports[i]) }
	one.doors = map[string]string{}
	args := []string{"toxic", local(0)}
	for i, server := range []struct{ name, address string }{{infra.Postgres, st.Postgres.URL}, {infra.Rabbit, st.Rabbit.URL}} {
		if server.name == infra.Postgres && !p.Options.Toxic {
			continue
		}
		parsed, err := url.Parse(server.address)
		if err != nil {
			return fmt.Errorf("the address of %s is not a URL", server.name) // the error would show the password
		}
		behind := parsed.Host
		if server.name == infra.Rabbit && len(st.Rabbit.Nodes) > 0 {
			behind = strings.Join(st.Rabbit.Nodes, ",")
		}
		one.doors[parsed.Host] = local(i + 1)
		args = append(args, server.name+"="+local(i+1)+"="+behind)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	proxy := state.Process{Name: Toxic, Ready: "http://" + local(0) + "/readyz", Spec: process.Spec{
		Path: self, Args: args, Dir: p.Dir, Env: []string{"HOME=" + p.Dir, process.Mark(p.Dir)},
		Log: filepath.Join(state.LogDir(p.Dir), Toxic+".log"),
	}}
	if proxy.Ref, err = process.Start(proxy.Spec); err != nil {
		return err
	}
	if _, err := state.Change(p.Dir, func(st *state.State) error { st.Put(proxy); return nil }); err != nil {
		return err
	}
	return infra.Ready(ctx, proxy)
}
