package cryptodata_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/apipb"
	"google.golang.org/protobuf/types/known/sourcecontextpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/cryptodata"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// pair makes a key and returns its halves in PEM.
func pair(tb testing.TB) (private []byte, public *rsa.PublicKey) {
	tb.Helper()
	private, text, err := cryptodata.GenerateKey()
	infratest.Fatal(tb, err)
	if public, err = cryptodata.ParsePublicKey(text); err != nil {
		tb.Fatal(err)
	}
	return private, public
}

func write(tb testing.TB, text []byte, mode os.FileMode) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "key.pem")
	infratest.Fatal(tb, os.WriteFile(path, text, mode))
	return path
}

func start(tb testing.TB, keys ...[]byte) *cryptodata.Plugin {
	tb.Helper()
	var cfg cryptodata.Config
	for _, key := range keys {
		cfg.PrivateKeyFiles = append(cfg.PrivateKeyFiles, write(tb, key, 0o600))
	}
	p := cryptodata.NewPlugin(cryptodata.UseConf(cfg))
	agenttest.Start(tb, p)
	return p
}

func seal(tb testing.TB, key *rsa.PublicKey, plain string) string {
	tb.Helper()
	text, err := cryptodata.Encrypt(key, []byte(plain))
	infratest.Fatal(tb, err)
	return text
}

func TestEncryptAndDecrypt(t *testing.T) {
	t.Parallel()
	private, public := pair(t)
	other, _ := pair(t)
	p, wrong := start(t, other, private), start(t, other)
	for _, n := range []int{0, 1, 318, 319, 5000} { // up to 318 bytes fit the key
		plain := strings.Repeat("x", n)
		text := seal(t, public, plain)
		if again := seal(t, public, plain); again == text {
			t.Errorf("%d bytes: twice the same", n)
		}
		for _, form := range []string{text, strings.TrimRight(text, "="), strings.NewReplacer("+", "-", "/", "_").Replace(text), text + "\n"} {
			if got, err := p.DecryptData(form); err != nil || string(got) != plain {
				t.Errorf("%d bytes: %q, %v", n, got, err)
			}
		}
		if _, err := wrong.DecryptData(text); !errors.Is(err, cryptodata.ErrNoKey) {
			t.Errorf("%d bytes, another key: %v", n, err)
		}
		for _, at := range []int{len(cryptodata.Prefix) + 2, len(text) - 8} { // a damaged text
			damaged := []byte(text)
			damaged[at] ^= 1
			if _, err := p.DecryptData(string(damaged)); err == nil {
				t.Errorf("%d bytes: damaged at %d and decrypted", n, at)
			}
		}
	}
	for text, want := range map[string]string{
		"secret": "begins with $crypto$", "$crypto$!": "expected base64", "$crypto$": "another key", "$crypto$YWJj": "another key",
	} {
		if _, err := p.DecryptData(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// api is a message with all kinds of fields.
func api(secret string) *apipb.Api {
	return &apipb.Api{
		Name: secret, SourceContext: &sourcecontextpb.SourceContext{FileName: secret},
		Mixins: []*apipb.Mixin{{Name: "plain"}, {Root: secret}},
	}
}

// A value is decrypted whatever its encoding, wherever the text is.
func TestReveal(t *testing.T) {
	t.Parallel()
	private, public := pair(t)
	p := start(t, private)
	sealed := api(seal(t, public, "hunter2"))
	text, err := kv.Encode(sealed)
	infratest.Fatal(t, err)
	wire, err := proto.Marshal(sealed)
	infratest.Fatal(t, err)
	plain, err := proto.Marshal(api("hunter2"))
	infratest.Fatal(t, err)
	lookup := config.EnvMap(map[string]string{"PLAIN": "plain"})
	for name, value := range map[string]kv.Value{
		"JSON":       kv.Encoded(text),
		"with mark":  kv.Encoded(strings.Replace(string(text), "{", `{"encrypted": true, `, 1)),
		"protobuf":   kv.Encoded(wire),
		"file":       kv.Decoded{Message: sealed},
		"whole":      kv.Encoded(seal(t, public, `{"name":"hunter2","source_context":{"file_name":"hunter2"},"mixins":[{"name":"plain"},{"root":"hunter2"}]}`)),
		"whole wire": kv.Encoded(seal(t, public, string(plain)) + "\n"),
		"twice":      kv.Encoded(seal(t, public, string(wire))),
	} {
		var got apipb.Api
		if err := p.Reveal(value).Decode(&got); err != nil || !proto.Equal(&got, api("hunter2")) {
			t.Errorf("%s: %v, %v", name, &got, err)
		}
	}
	var got structpb.Struct // a map
	m, err := structpb.NewStruct(map[string]any{"a": "$crypto$", "b": []any{seal(t, public, "x")}})
	infratest.Fatal(t, err)
	m.Fields["a"] = structpb.NewStringValue(seal(t, public, "x"))
	if err := p.Reveal(kv.Decoded{Message: m}).Decode(&got); err != nil || got.Fields["a"].GetStringValue() != "x" ||
		got.Fields["b"].GetListValue().Values[0].GetStringValue() != "x" {
		t.Errorf("%v, %v", &got, err)
	}
	var raw wrapperspb.BytesValue
	if err := p.Reveal(kv.Decoded{Message: wrapperspb.Bytes([]byte(seal(t, public, "\x00\xff")))}).Decode(&raw); err != nil || !bytes.Equal(raw.Value, []byte{0, 0xff}) {
		t.Errorf("%q, %v", raw.Value, err)
	}
	// Variables are replaced in decrypted text, as in text that never was
	// encrypted.
	expanding := kv.Expanding{Encoded: []byte(`{"name":"$crypto$", "mixins": [{"name": "$PLAIN"}]}`), Lookup: lookup}
	expanding.Encoded = []byte(strings.Replace(string(expanding.Encoded), "$crypto$", seal(t, public, "x"), 1))
	var e apipb.Api
	if err := p.Reveal(expanding).Decode(&e); err != nil || e.Name != "x" || e.Mixins[0].Name != "plain" {
		t.Errorf("%v, %v", &e, err)
	}
	// What has no encrypted text stays as it is.
	for _, value := range []kv.Value{kv.Decoded{Message: api("plain")}, kv.Decoded{Message: &apipb.Api{}}} {
		if got := p.Reveal(value); got != value {
			t.Errorf("%v became %v", value, got)
		}
	}
}

// The error of a text that cannot be decrypted names its field and hides its content.
func TestErrors(t *testing.T) {
	t.Parallel()
	private, public := pair(t)
	_, foreign := pair(t)
	p := start(t, private)
	good, bad := seal(t, public, "hunter2"), seal(t, foreign, "hunter2")
	for name, c := range map[string]struct {
		p     *cryptodata.Plugin
		value kv.Value
		want  string
	}{
		"another key":       {p, kv.Encoded(`{"mixins":[{"name":"x"},{"root":"` + bad + `"}]}`), "mixins[1].root: decrypt: the text was encrypted for another key, or is damaged"},
		"no base64":         {p, kv.Encoded(`{"name":"$crypto$?"}`), "name: decrypt: expected base64 after $crypto$"},
		"message":           {p, kv.Decoded{Message: api(bad)}, "decrypt: the text was encrypted for another key"},
		"whole":             {p, kv.Encoded(bad), "decrypt the value: the text was encrypted for another key"},
		"whole, no message": {p, kv.Encoded(good), "the decrypted value is not google.protobuf.Api"},
		"no keys":           {start(t), kv.Encoded(`{"name":"` + good + `"}`), "name: decrypt: the value is encrypted, and there are no private-key-files in cryptodata.conf"},
		"wrong field":       {p, kv.Encoded(`{"syntax":"` + good + `"}`), `(secret)`},
		"unknown field":     {p, kv.Encoded(`{"nmae":"` + good + `"}`), `nmae`},
		"broken JSON":       {p, kv.Encoded(`{"name":"` + good + `"`), "JSON"},
		"two objects":       {p, kv.Encoded(`{"name":"` + good + `"} {}`), "JSON"},
	} {
		var got apipb.Api
		err := c.p.Reveal(c.value).Decode(&got)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if !proto.Equal(&got, &apipb.Api{}) {
			t.Errorf("%s: half of it was decoded: %v", name, &got)
		}
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	if err := config.Lint(cryptodata.Config{}); err != nil {
		t.Error(err)
	}
	private, _ := pair(t)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	infratest.Fatal(t, err)
	block, _ := pem.Decode(private)
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	infratest.Fatal(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	infratest.Fatal(t, err)
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	for name, c := range map[string]struct{ path, want string }{
		"PKCS #1": {write(t, private, 0o600), ""},
		"PKCS #8": {write(t, encode("PRIVATE KEY", pkcs8), 0o600), ""},
		"missing": {"/nowhere", "private-key-files[0]: open /nowhere"},
		"empty":   {"", "private-key-files[0]: expected the path"},
		"no PEM":  {write(t, []byte("x"), 0o600), "expected a private RSA key in PEM"},
		"sealed":  {write(t, encode("ENCRYPTED PRIVATE KEY", pkcs8), 0o600), "without passphrase"},
		"broken":  {write(t, encode("RSA PRIVATE KEY", pkcs8[:99]), 0o600), "parse the private key"},
		"small":   {write(t, encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(small)), 0o600), "1024 bits, expected at least 2048"},
	} {
		p := cryptodata.NewPlugin(cryptodata.UseDeps(func(d *cryptodata.Deps) {
			d.Cfg = config.Text("cryptodata", "private-key-files: ['"+c.path+"']")
		}))
		err := agenttest.New(t, agent.AllPlugins(p)).Start(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Whatever is in a store, decoding it ends without a panic, and does not show
// the encrypted text.
func FuzzReveal(f *testing.F) {
	private, public := pair(f)
	p := start(f, private)
	sealed := seal(f, public, "hunter2")
	for _, text := range []string{sealed, `{"name":"` + sealed + `"}`, `{"encrypted":true,"mixins":[{"name":"$crypto$"}]}`, "{", "$crypto$", "\x0a\x08$crypto$"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var m apipb.Api
		err := p.Reveal(kv.Encoded(text)).Decode(&m)
		if err != nil && strings.Contains(err.Error(), "hunter2") && !bytes.Contains(text, []byte("hunter2")) {
			t.Errorf("%q: the error shows a secret: %v", text, err)
		}
		if err == nil && strings.HasPrefix(m.Name, cryptodata.Prefix) && !bytes.Contains(text, []byte("hunter2")) {
			t.Errorf("%q: not decrypted: %v", text, &m)
		}
	})
}
