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

// maxMessage is the maximum size of a sent entry, in bytes. It fits in a
// datagram.
const maxMessage = 8 << 10

// encoder encodes an entry for a network ("udp", "tcp", "unix").
type encoder func(network string, e logging.Entry) []byte

// facility is the syslog facility of daemons (RFC 5424, 6.2.1).
const facility = 3

// severity returns the syslog severity of a level.
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

// encodeSyslog returns an encoder for RFC 5424. For the local socket it uses the
// older format that its readers expect (RFC 3164), without the host name and with
// local time. An entry is one line.
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

// encodeLogstash returns an encoder for Logstash events in JSON; facts become
// fields.
func encodeLogstash(app string) encoder {
	host, _ := os.Hostname() // empty if unknown
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
		if err != nil { // cannot happen: a map of strings can be encoded
			return nil
		}
		return append(text, '\n')
	}
}

// cut truncates a text that is too long.
func cut(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "..."
}
