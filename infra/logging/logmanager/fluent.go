package logmanager

import (
	"encoding/binary"
	"maps"
	"os"
	"slices"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// fluentPort is the default port of Fluentd and Fluent Bit.
const fluentPort = 24224

// encodeFluent returns an encoder for the forward protocol of Fluentd (v1, "Message
// Modes"): the tag, which is the name of the agent, the time in nanoseconds, and a
// record.
func encodeFluent(app string) encoder {
	host, _ := os.Hostname() // empty if unknown
	return func(_ string, e logging.Entry) []byte {
		record := map[string]string{}
		for _, f := range e.Facts {
			record[f.Key] = cut(f.Value)
		}
		record["message"], record["level"], record["logger"], record["host"] = cut(e.Message), e.Level.String(), e.Logger, host
		b := []byte{0x93} // an array of three
		b = packText(b, app)
		b = append(b, 0xd7, 0x00) // EventTime: an extension of 8 bytes
		b = binary.BigEndian.AppendUint32(b, uint32(e.Time.Unix()))
		b = binary.BigEndian.AppendUint32(b, uint32(e.Time.Nanosecond()))
		b = append(b, 0xdf) // a map
		b = binary.BigEndian.AppendUint32(b, uint32(len(record)))
		for _, key := range slices.Sorted(maps.Keys(record)) {
			b = packText(packText(b, key), record[key])
		}
		return b
	}
}

// packText appends a string in MessagePack.
func packText(b []byte, text string) []byte {
	b = append(b, 0xdb)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	return append(b, text...)
}
