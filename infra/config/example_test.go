package config_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
)

type pollConfig struct {
	Interval time.Duration `json:"interval" desc:"time between two polls"`
	Targets  []string      `json:"targets" desc:"what to poll"`
}

func (c pollConfig) Validate() error {
	if c.Interval <= 0 {
		return errors.New("interval: expected a time above 0")
	}
	return nil
}

func ExampleLoad() {
	def := pollConfig{Interval: time.Minute}
	for _, text := range []string{"targets: [a, b]", "intervall: 5s", "interval: 0s"} {
		cfg, _, err := config.Load(config.Text("poll", text), def)
		fmt.Println(cfg, err)
	}
	// Output:
	// {1m0s [a b]} <nil>
	// {1m0s []} poll.conf:1: intervall: unknown key, did you mean "interval"?
	// {1m0s []} poll.conf: interval: expected a time above 0
}
