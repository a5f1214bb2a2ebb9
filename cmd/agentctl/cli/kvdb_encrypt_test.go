package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/cryptodata"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// A text that is encrypted for a public key is decrypted with the private key.
func TestKVDBEncrypt(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "agent.pem")
	if r := run(t, nil, "kvdb", "keygen", key); r.code != 0 || r.out != key+"\n"+key+".pub\n" {
		t.Fatalf("keygen: exit %d, %q, %q", r.code, r.out, r.err)
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the private key: %v, %v", info, err)
	}
	text, err := os.ReadFile(key)
	infratest.Fatal(t, err)
	private, err := cryptodata.ParsePrivateKey(text)
	infratest.Fatal(t, err)
	for _, file := range []string{key, key + ".pub"} {
		r := run(t, nil, "kvdb", "encrypt", file, "hunter2")
		plain, err := cryptodata.Keys{private}.Decrypt(strings.TrimSuffix(r.out, "\n"))
		if r.code != 0 || err != nil || string(plain) != "hunter2" {
			t.Errorf("%s: exit %d, %q, %v: %q", file, r.code, r.err, err, plain)
		}
	}
	for want, args := range map[string][]string{
		"exists":              {"kvdb", "keygen", key},
		"no such file":        {"kvdb", "encrypt", key + "x", "hunter2"},
		"expected an RSA key": {"kvdb", "encrypt", os.DevNull, "hunter2"},
		"expected 'agentctl kvdb encrypt KEYFILE [TEXT]', got": {"kvdb", "encrypt"},
	} {
		if r := run(t, nil, args...); r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("%q: exit %d, %q, want %q", args, r.code, r.err, want)
		}
	}
}
