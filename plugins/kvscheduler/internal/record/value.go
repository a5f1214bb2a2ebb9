package record

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

const (
	textNil   = "<NIL>"   // no value
	textEmpty = "<EMPTY>" // a value without any field set
)

// ValueText is the value on one line, "{ name:"if1" mtu:1500 }", the same on
// every run. Secrets are replaced as in the log.
func ValueText(v proto.Message) string {
	if v == nil || !v.ProtoReflect().IsValid() {
		return textNil
	}
	text := singleSpaces(logging.Redact(v).String())
	if text == "" {
		return textEmpty
	}
	return "{ " + text + " }"
}

// singleSpaces undoes the deliberate instability of prototext, which writes
// one or two spaces between fields. Quoted text is left alone.
func singleSpaces(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == '\\' && i+1 < len(s) {
				b.WriteByte(c)
				i++
				c = s[i]
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ' ' && i > 0 && s[i-1] == ' ':
			continue
		}
		b.WriteByte(c)
	}
	return strings.TrimSpace(b.String())
}
