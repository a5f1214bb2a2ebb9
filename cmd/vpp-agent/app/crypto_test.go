package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/cryptodata"
	"github.com/tenuto-dev/tenuto/infra/kv"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	vppif "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Values in etcd may be encrypted, as a whole or in part. One that the agent has
// no key for is reported, and the rest applies.
func TestEncryptedValuesInEtcd(t *testing.T) {
	t.Parallel()
	server, ctl := startEtcd(t)
	private, public, err := cryptodata.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	seal := func(public []byte, plain string) string {
		t.Helper()
		key, err := cryptodata.ParsePublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		text, err := cryptodata.Encrypt(key, []byte(plain))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	_, foreign, err := cryptodata.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	key := func(name string) string { return "config/vpp/v2/interfaces/" + name }
	ctl.run("put", docPrefix+key("part"), `{"encrypted": true, "name": "part", "type": "MEMIF", "memif": {"id": 1, "secret": "`+seal(public, "hunter2")+`"}}`)
	ctl.run("put", docPrefix+key("whole"), seal(public, `{"name": "whole", "type": "SOFTWARE_LOOPBACK"}`))
	ctl.run("put", docPrefix+key("foreign"), `{"name": "foreign", "type": "MEMIF", "memif": {"id": 2, "secret": "`+seal(foreign, "hunter2")+`"}}`)
	h := newEtcdHouse(t, server, "--simulate")
	h.write(t, "agent.pem", string(private))
	h.write(t, "cryptodata.conf", "private-key-files: ["+h.dir+"/agent.pem]\n")
	h.start(t)
	h.await(t, key("part"), pb.ValueState_CONFIGURED)
	h.await(t, key("whole"), pb.ValueState_CONFIGURED)
	h.awaitReadiness(t, http.StatusServiceUnavailable, "key "+key("foreign")+": decode the value: memif.secret: decrypt: the text was encrypted for another key")
	secret := ""
	for _, item := range h.Orchestrator.ListData("etcd") {
		if i, ok := item.Val.(*vppif.Interface); ok && i.Name == "part" {
			secret = i.GetMemif().GetSecret()
		}
	}
	if secret != "hunter2" {
		t.Errorf("the secret is %q", secret)
	}
	stored, err := directEtcd(t, server).List(t.Context(), docPrefix)
	if err != nil {
		t.Fatal(err)
	}
	if text := texts(stored.Items); strings.Contains(text, "hunter2") {
		t.Errorf("the store shows the secret: %s", text)
	}
	ctl.run("put", docPrefix+key("foreign"), `{"name": "foreign", "type": "SOFTWARE_LOOPBACK"}`)
	h.await(t, key("foreign"), pb.ValueState_CONFIGURED)
	h.awaitReadiness(t, http.StatusOK, "")
}

func texts(items []kv.Item) string {
	var b strings.Builder
	for _, it := range items {
		b.Write(it.Value)
	}
	return b.String()
}
