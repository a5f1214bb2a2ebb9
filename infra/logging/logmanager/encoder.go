package logmanager

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// maxMessage bounds an entry that is sent, in bytes; a datagram has to hold it.
const maxMessage = 8 << 10

// encoder writes an entry for a network ("udp", "tcp", "unix").
type encoder func(network string, e logging.Entry) []byte

// facility is that of daemons in syslog (RFC 5424, 6.2.1).
const facility = 3

// severity is that of syslog.
func severity(l logging.Level) int {
	switch {
	case l >= logging.ErrorLevel:
		return 3
	case l >= logging.WarnLevel:
		return 4
	case l >= logging.InfoLevel:
		return 6
	}
	return 7
}

// encodeSyslog is RFC 5424, and for the socket of this machine the older form that
// its readers expect: without the name of the machine, the time in local form
// (RFC 3164). An entry is one line.
func encodeSyslog(app string) encoder {
	tag := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsGraphic(r) || r == ' ' {
			return '-'
		}
		return r
	}, app)
	if tag == "" {
		tag = "-"
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "-"
	}
	pid := os.Getpid()
	return func(network string, e logging.Entry) []byte {
		pri := facility<<3 | severity(e.Level)
		text := strings.ReplaceAll(cut(e.String()), "\n", `\n`)
		if network == "unix" {
			return fmt.Appendf(nil, "<%d>%s %s[%d]: %s\n", pri, e.Time.Format(time.Stamp), tag, pid, text)
		}
		return fmt.Appendf(nil, "<%d>1 %s %s %s %d - - %s\n", pri, e.Time.Format("2006-01-02T15:04:05.000000Z07:00"), host, tag, pid, text)
	}
}

// encodeLogstash is JSON as Logstash has its events; facts are fields of it.
func encodeLogstash(app string) encoder {
	host, _ := os.Hostname() // empty if it is not known
	return func(_ string, e logging.Entry) []byte {
		event := map[string]any{}
		for _, f := range e.Facts {
			event[f.Key] = cut(f.Value)
		}
		for key, value := range map[string]string{
			"@timestamp": e.Time.UTC().Format(time.RFC3339Nano), "@version": "1", "message": cut(e.Message),
			"level": e.Level.String(), "logger": e.Logger, "host": host, "program": app,
		} {
			event[key] = value
		}
		text, err := json.Marshal(event)
		if err != nil { // a map of texts can be written
			return nil
		}
		return append(text, '\n')
	}
}

// cut shortens a text that is too long.
func cut(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "..."
}
