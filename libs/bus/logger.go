package bus

import (
	"context"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill"
)

// logger forwards Watermill's log. Its information becomes debug, and its errors become warnings, since every one of
// them is retried.
type logger struct{ log *slog.Logger }

var _ watermill.LoggerAdapter = logger{}

func (l logger) Error(msg string, err error, fields watermill.LogFields) {
	l.write(slog.LevelWarn, msg, fields.Add(watermill.LogFields{"err": err}))
}

func (l logger) Info(msg string, fields watermill.LogFields) { l.write(slog.LevelDebug, msg, fields) }

func (l logger) Debug(string, watermill.LogFields) {}

func (l logger) Trace(string, watermill.LogFields) {}

func (l logger) With(fields watermill.LogFields) watermill.LoggerAdapter {
	return logger{l.log.With(pairs(fields)...)}
}

func (l logger) write(level slog.Level, msg string, fields watermill.LogFields) {
	l.log.Log(context.Background(), level, "watermill: "+msg, pairs(fields)...)
}

func pairs(fields watermill.LogFields) []any {
	args := make([]any, 0, 2*len(fields))
	for key, value := range fields {
		args = append(args, key, value)
	}
	return args
}
