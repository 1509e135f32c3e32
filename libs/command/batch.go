package command

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Batches reads the lines of a verb's input and passes them on in batches; it skips empty ones. A line that read
// refuses ends it. The error names the line by its number alone, because a line may name a person and errors are
// logged.
func Batches[T any](from io.Reader, most int, read func(line string) (T, error), each func([]T) error) error {
	var batch []T
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := each(batch)
		batch = batch[:0]
		return err
	}
	scanner := bufio.NewScanner(from)
	for number := 1; scanner.Scan(); number++ {
		if line := strings.TrimSpace(scanner.Text()); line != "" {
			one, err := read(line)
			if err != nil {
				return fmt.Errorf("line %d %w", number, err)
			}
			batch = append(batch, one)
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
