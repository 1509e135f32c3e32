package command

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Batches gives the lines of what a verb reads, at most so many at once; empty ones are left out.
func Batches(from io.Reader, most int, each func(lines []string) error) error {
	var batch []string
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := each(batch)
		batch = batch[:0]
		return err
	}
	scanner := bufio.NewScanner(from)
	for scanner.Scan() {
		if line := strings.TrimSpace(scanner.Text()); line != "" {
			batch = append(batch, line)
		}
		if len(batch) == most {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read the lines: %w", err)
	}
	return flush()
}
