package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

const want = `the universe begins
the world begins, in the universe
the universe has 1 world: Earth
the world is greeted: Hello World!
the world ends
the universe ends
`

func options(t *testing.T) []agent.Option {
	return []agent.Option{agent.Args(), agent.Environ(config.NoEnviron), agent.QuitSignals(), agent.Logging(infratest.Loggers(t))}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := newAgent(&out, options(t)...)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	agenttest.CheckLeaks(t, a)
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
}

// What --graph writes.
func TestGraph(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	if err := newAgent(io.Discard, append(options(t), agent.Name("hello"))...).Graph(&got); err != nil {
		t.Fatal(err)
	}
	const want = `digraph "hello" {
	rankdir=LR;
	node [shape=box];
	"universe" [label="1. universe\nmain.HelloUniverse"];
	"world" [label="2. world\nmain.HelloWorld"];
	"world" -> "universe";
}
`
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &got, want)
	}
}

func TestMutualPluginsAreRefused(t *testing.T) {
	t.Parallel()
	const want = "agent: dependency cycle: world.Universe -> universe.World"
	if err := newMutualAgent(options(t)...).Start(t.Context()); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
