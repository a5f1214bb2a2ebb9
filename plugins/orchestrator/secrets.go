package orchestrator

import (
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// RestoreSecrets returns a value with its hidden secrets restored: clients that read a
// value without secrets, change it and send it back keep them. They are those that the
// source has for the key or, if it has none, those in effect. Without hidden secrets
// the result is val itself. A secret that is not stored stays hidden, so that PushData
// refuses the value.
func (p *Plugin) RestoreSecrets(source, key string, val proto.Message) proto.Message {
	if p.Codec.HiddenField(val) == "" {
		return val
	}
	p.mu.RLock()
	effective, _ := p.store.effective(key)
	stored := []proto.Message{effective.Val}
	for _, src := range p.store.sources {
		if src.name == source {
			stored = []proto.Message{src.items[key].val, effective.Val}
		}
	}
	p.mu.RUnlock()
	for _, from := range stored {
		val = logging.RestoreSecrets(val, from)
	}
	return val
}

// restoreGRPC restores the secrets of values that clients send over REST.
func (p *Plugin) restoreGRPC(key string, val proto.Message) (proto.Message, bool) {
	val = p.RestoreSecrets(GRPC, key, val)
	return val, p.Codec.HiddenField(val) == ""
}
