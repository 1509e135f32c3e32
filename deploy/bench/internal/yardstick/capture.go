// Package yardstick runs a statement of a service by pgbench, on the same PostgreSQL and with the same arguments, but
// without the service. It takes the statement from the server's log while the service executes it, so that the
// yardstick always equals the product's statement.
package yardstick

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Statement is a statement with the arguments of several of its executions; nil is NULL.
type Statement struct {
	SQL  string
	Args [][]*string
}

// Capture has the server log everything that the application role does while act runs, and returns the statement that
// contains text. act must make the service connect anew before it acts, twice or more. The server must be ours: its log
// is read as a file.
func Capture(ctx context.Context, superuser, role, log, text string, act func() error) (Statement, error) {
	conn, err := pgx.Connect(ctx, superuser)
	if err != nil {
		return Statement{}, fmt.Errorf("connecting to PostgreSQL: %w", err)
	}
	defer conn.Close(ctx)
	name := pgx.Identifier{role}.Sanitize()
	if _, err := conn.Exec(ctx, "ALTER ROLE "+name+" SET log_statement = 'all'"); err != nil {
		return Statement{}, fmt.Errorf("turning the log on: %w", err)
	}
	defer func() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), "ALTER ROLE "+name+" RESET log_statement") // the instance is a benchmark's own
	}()
	before, err := os.Stat(log)
	if err != nil {
		return Statement{}, fmt.Errorf("finding the server's log: %w", err)
	}
	if err := act(); err != nil {
		return Statement{}, err
	}
	for deadline := time.Now().Add(5 * time.Second); ; {
		found, err := read(log, before.Size(), text)
		if err == nil || time.Now().After(deadline) {
			return found, err
		}
		time.Sleep(50 * time.Millisecond) // the log is written by another process
	}
}

func read(path string, from int64, text string) (Statement, error) {
	file, err := os.Open(path)
	if err != nil {
		return Statement{}, fmt.Errorf("reading the server's log: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return Statement{}, fmt.Errorf("reading the server's log: %w", err)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return Statement{}, fmt.Errorf("reading the server's log: %w", err)
	}
	return parse(content, text)
}

var (
	// A record of PostgreSQL's log starts with the time; its further lines start with a tab.
	record   = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\n]*?(LOG|DETAIL):  `)
	executed = regexp.MustCompile(`^execute [^:]*: `)
)

// parse finds the executions of the one statement that contains text.
func parse(log []byte, text string) (Statement, error) {
	var s Statement
	starts := record.FindAllSubmatchIndex(log, -1)
	take := false
	for i, at := range starts {
		end := len(log)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		kind := string(log[at[2]:at[3]])
		body := strings.TrimRight(string(bytes.ReplaceAll(log[at[1]:end], []byte("\n\t"), []byte("\n"))), "\n")
		switch {
		case kind == "LOG":
			sql := executed.ReplaceAllString(body, "")
			take = sql != body && strings.Contains(sql, text) && (s.SQL == "" || s.SQL == sql)
			if take {
				s.SQL = sql
			}
		case take && strings.HasPrefix(body, "parameters: "):
			args, err := parameters(strings.TrimPrefix(body, "parameters: "))
			if err != nil {
				return s, err
			}
			s.Args = append(s.Args, args)
			take = false
		}
	}
	if len(s.Args) < 2 {
		return s, fmt.Errorf("the server's log shows %d executions of a statement with %q", len(s.Args), text)
	}
	return s, nil
}

// parameters reads "$1 = 'it”s', $2 = NULL".
func parameters(text string) ([]*string, error) {
	var args []*string
	for text != "" {
		name, rest, ok := strings.Cut(text, " = ")
		if !ok || name != "$"+strconv.Itoa(len(args)+1) {
			return nil, errors.New("the server's log has parameters that cannot be read")
		}
		if rest, ok = strings.CutPrefix(rest, "NULL"); ok {
			args = append(args, nil)
			text = strings.TrimPrefix(rest, ", ")
			continue
		}
		value, after, err := quoted(rest)
		if err != nil {
			return nil, err
		}
		args = append(args, &value)
		text = strings.TrimPrefix(after, ", ")
	}
	return args, nil
}

func quoted(text string) (value, after string, err error) {
	var b strings.Builder
	for i := 1; strings.HasPrefix(text, "'") && i < len(text); i++ {
		if text[i] != '\'' {
			b.WriteByte(text[i])
			continue
		}
		if i+1 == len(text) || text[i+1] != '\'' {
			return b.String(), text[i+1:], nil
		}
		b.WriteByte('\'')
		i++
	}
	return "", "", errors.New("the server's log has a value without an end")
}

// varies lists the parameters whose values differ between executions: what is unique is among them.
func (s Statement) varies(n int) bool {
	first := s.Args[0][n]
	return slices.ContainsFunc(s.Args[1:], func(args []*string) bool {
		other := args[n]
		return (first == nil) != (other == nil) || first != nil && *first != *other
	})
}
