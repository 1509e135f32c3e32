// Command bill writes the bill of materials of each shipped program, and all licence texts, to a directory: bill ROOT
// BINARIES DIRECTORY VERSION, where ROOT is the project's directory, BINARIES the one with the built programs and
// VERSION theirs (make sbom).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"causeway.internal/deploy/check/supply"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bill:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("usage: bill ROOT BINARIES DIRECTORY VERSION")
	}
	parts, err := supply.Parts(ctx, args[0])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(args[2], 0o755); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	for _, shipped := range supply.Shipped {
		name := filepath.Base(shipped)
		raw, err := supply.Bill(filepath.Join(args[1], name), args[3], parts)
		if err == nil {
			err = os.WriteFile(filepath.Join(args[2], name+".cdx.json"), raw, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(args[2], "licences.txt"), supply.Texts(parts), 0o644)
}
