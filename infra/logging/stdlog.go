package logging

import (
	"log"
	"strings"
)

// StdLog returns a logger of the standard library whose lines l writes as
// warnings, for servers that expect one.
func StdLog(l Logger) *log.Logger { return log.New(warnings{l}, "", 0) }

type warnings struct{ Logger }

func (w warnings) Write(line []byte) (int, error) {
	w.Warn(strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}
