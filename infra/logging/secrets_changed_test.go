package logging_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

func TestChangedSecrets(t *testing.T) {
	t.Parallel()
	memif := func(id uint32, secret string) *interfaces.Interface {
		return &interfaces.Interface{Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Id: id, Secret: secret}}}
	}
	sa := func(key string, salt uint32) proto.Message {
		return &ipsec.SecurityAssociation{CryptoKey: key, CryptoSalt: salt}
	}
	for name, tt := range map[string]struct {
		from, to proto.Message
		want     []string
	}{
		"another secret":             {memif(1, "a"), memif(2, "b"), []string{"memif.secret"}},
		"another field":              {memif(1, "a"), memif(2, "a"), nil},
		"a secret that is shown new": {memif(1, ""), memif(1, "a"), nil},
		"another kind":               {memif(1, "a"), &interfaces.Interface{}, nil},
		"several, one is a number":   {sa("a", 1), sa("b", 0), []string{"crypto_key", "crypto_salt"}},
		"other types":                {sa("a", 1), memif(1, "a"), nil},
		"nothing before":             {nil, sa("a", 1), nil},
	} {
		if got := logging.ChangedSecrets(tt.from, tt.to); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, expected %v", name, got, tt.want)
		}
	}
}
