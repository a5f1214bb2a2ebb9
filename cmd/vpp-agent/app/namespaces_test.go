package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

type label string

func (l label) GetAgentLabel() string { return string(l) }

// TestNamespacesOfARunningAgentAreLeftAlone: an agent with the same label that ends
// removes nothing of the one that runs; one that comes after it does.
func TestNamespacesOfARunningAgentAreLeftAlone(t *testing.T) {
	netns, state := t.TempDir(), t.TempDir()
	held := true
	start := func() *OwnNamespaces {
		o := newOwnNamespaces(label("a"), func() bool { return true }, func() bool { return held })
		o.netns, o.state = netns, state
		o.Log = infratest.Logger(t, "own-namespaces")
		if err := o.Init(); err != nil {
			t.Fatal(err)
		}
		return o
	}
	file := filepath.Join(state, "a", "namespaces")
	exists := func() bool { _, err := os.Stat(file); return err == nil }

	first := start()
	if err := os.WriteFile(filepath.Join(netns, "red"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first.created("red")
	if !exists() {
		t.Fatal("nothing is noted")
	}
	if err := os.Remove(filepath.Join(netns, "red")); err != nil { // nothing to unmount in this test
		t.Fatal(err)
	}
	second := start()
	if err := second.Close(); err != nil || !exists() {
		t.Fatalf("error %v, the notes of the first agent exist: %v", err, exists())
	}
	_ = first.held.Close() // it is killed
	held = false           // an agent that waited for Linux all the time
	waiting := start()
	if err := waiting.Close(); err != nil || !exists() {
		t.Fatalf("error %v, the notes of the first agent exist: %v", err, exists())
	}
	held = true
	third := start()
	if err := third.Close(); err != nil || exists() {
		t.Fatalf("error %v, the notes of the killed agent exist: %v", err, exists())
	}
}
