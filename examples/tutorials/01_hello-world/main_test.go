package main

import (
	"bytes"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := newAgent(&out, agent.QuitSignals())
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	const want = "Hello World!\nAll systems go!\nGoodbye World!\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
