package kv_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

func TestLocation(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]kv.Location{
		"":             {},
		"net.yaml":     kv.At("net.yaml"),
		"net.yaml:12":  kv.At("net.yaml").Line(12),
		"etcd:/a/key1": kv.At("etcd:/a/").Keyed(),
	} {
		if got := l.Text("key1"); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	if kv.At("").Line(3).Text("key1") != "" {
		t.Error("a line without a place has a text")
	}
	for _, other := range []kv.Location{{}, kv.At("net.yaml").Line(13), kv.At("other.yaml").Keyed()} {
		if l := kv.At("net.yaml").Line(12).Sharing(other); l.Text("") != "net.yaml:12" {
			t.Errorf("sharing with %q makes it %q", other.Text(""), l.Text(""))
		}
	}
	if l, shared := kv.At("net.yaml").Line(12), kv.At("net.yaml").Line(13); l.Sharing(shared) != shared.Line(12) {
		t.Error("the name is not shared")
	}
	twelve := kv.At("net.yaml").Line(12)
	if !twelve.Equal(kv.At("net.yaml").Line(12)) || !(kv.Location{}).Equal(kv.At("")) {
		t.Error("equal locations differ")
	}
	for _, other := range []kv.Location{{}, kv.At("net.yaml"), kv.At("net.yaml").Line(13), kv.At("other.yaml").Line(12)} {
		if twelve.Equal(other) || other.Equal(twelve) {
			t.Errorf("%q equals %q", twelve.Text(""), other.Text(""))
		}
	}
}
