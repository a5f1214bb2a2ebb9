package telemetry_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/telemetry"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A request returns the counters of all interfaces, with the requested freshness.
func TestInterfaceStats(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", sample(100).Bytes())
	h.names.set(1, "to-host")
	list, err := h.plugin.InterfaceStats(time.Minute)
	if err != nil || len(list) != 3 {
		t.Fatalf("%v, %v, want 3 interfaces", list, err)
	}
	counter := func(packets, bytes uint64) *interfaces.InterfaceStats_CombinedCounter {
		return &interfaces.InterfaceStats_CombinedCounter{Packets: packets, Bytes: bytes}
	}
	none := counter(0, 0)
	want := &interfaces.InterfaceStats{
		Name: "to-host", Rx: counter(101, 6060), Tx: none, TxUnicast: counter(4, 400), RxUnicast: none,
		RxMulticast: none, RxBroadcast: none, TxMulticast: none, TxBroadcast: none, Drops: 11,
	}
	infratest.EqualMessages(t, "interface", list[1], want)
	if list[0].Name != "local0" || list[2].Name != "GigabitEthernet0/8/0" {
		t.Errorf("names %s, %s", list[0].Name, list[2].Name)
	}
	for name, ask := range map[string]func(time.Duration) error{
		"InterfaceStats":      func(age time.Duration) error { _, err := h.plugin.InterfaceStats(age); return err },
		"InterfaceStatistics": func(age time.Duration) error { _, err := h.plugin.InterfaceStatistics(age); return err },
	} {
		opened := h.server.Opened()
		h.clock.advance(2 * time.Second)
		if err := ask(3 * time.Second); err != nil || h.server.Opened() != opened {
			t.Errorf("%s: VPP was read although what is known is young enough (%v)", name, err)
		}
		if err := ask(time.Second); err != nil || h.server.Opened() != opened+1 {
			t.Errorf("%s: VPP was not read although what is known is too old (%v)", name, err)
		}
	}
	stats, err := h.plugin.InterfaceStatistics(0)
	if err != nil || len(stats) != 1 {
		t.Fatalf("%v, %v, want the one interface of the configuration", stats, err)
	}
	infratest.EqualMessages(t, "statistics", stats["to-host"], &interfaces.InterfaceState_Statistics{InPackets: 101, InBytes: 6060, DropPackets: 11})
}

func TestNoInterfaceStats(t *testing.T) {
	t.Parallel()
	for conf, want := range map[string]error{
		"disabled: true":        telemetry.ErrDisabled,
		"skipped: [interfaces]": telemetry.ErrDisabled,
		"":                      telemetry.ErrUnreadable,
	} {
		h := newHouse(t, conf, sample(100).Bytes())
		h.server.Socket = "" // as of the simulator
		if _, err := h.plugin.InterfaceStats(0); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", conf, err, want)
		}
		if _, err := h.plugin.InterfaceStatistics(0); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", conf, err, want)
		}
	}
}
