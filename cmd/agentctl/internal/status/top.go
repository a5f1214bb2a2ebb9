package status

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

// notOfTop matches counters of the process and of the requests of clients.
var notOfTop = regexp.MustCompile(`^(go|http|grpc|process|promhttp)_`)

type topOptions struct {
	*cmdutil.Factory
	every time.Duration
	count uint
}

// NewTop returns the command "top".
func NewTop(f *cmdutil.Factory) *cobra.Command {
	o := &topOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the agent on the whole screen: values, operations, counters",
		Long: "Shows the number of values by state, the values that are not in effect, the running and\n" +
			"waiting transactions, and the counters that change fastest. It is drawn again until 'q' or an\n" +
			"interrupt; without a terminal it is printed once.",
		Example: "  agentctl top\n  agentctl top --interval 5s",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE:    o.run,
	}
	cmd.Flags().DurationVar(&o.every, "interval", time.Second, "time between two pictures")
	cmd.Flags().UintVarP(&o.count, "count", "n", 0, "draw this `number` of times; 0: until it is ended")
	return cmdutil.OnTargets(cmd, cmdutil.OneTarget)
}

func (o *topOptions) run(cmd *cobra.Command, _ []string) error {
	if o.every < 100*time.Millisecond {
		return exit.Usagef("--interval: %v: expected 100ms or more", o.every)
	}
	if !o.Term.Out && o.count == 0 {
		o.count = 1
	}
	return o.top(cmd.Context(), o.every, o.count)
}

// top draws pictures until the context ends, or the user does not want more.
func (o *topOptions) top(ctx context.Context, every time.Duration, count uint) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.Interactive() {
		raw, err := term.MakeRaw(int(os.Stdin.Fd()))
		if err != nil {
			return err
		}
		fmt.Fprint(o.Out, "\x1b[?1049h\x1b[?25l\x1b[?7l") // another screen, no cursor, long lines are cut
		defer func() {
			fmt.Fprint(o.Out, "\x1b[?7h\x1b[?25h\x1b[?1049l")
			_ = term.Restore(int(os.Stdin.Fd()), raw)
		}()
		go func() { // ends with the program, if no key is pressed
			key := make([]byte, 1)
			for {
				if n, err := os.Stdin.Read(key); err != nil || n == 1 && slices.Contains([]byte("qQ\x03\x1b"), key[0]) {
					cancel()
					return
				}
			}
		}()
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last picture
	for n := uint(1); ; n++ {
		now, err := o.takePicture(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // the user has seen enough
		case err != nil:
			return err
		}
		o.draw(o.picture(now, last))
		if last = now; n == count {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// draw writes a picture, on a terminal from its first line on and no longer than it is.
func (o *topOptions) draw(text string) {
	if !o.Interactive() {
		fmt.Fprint(o.Out, text)
		return
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if _, height, err := term.GetSize(int(os.Stdin.Fd())); err == nil && len(lines) > height {
		lines = lines[:height]
	}
	fmt.Fprint(o.Out, "\x1b[H"+strings.Join(lines, "\x1b[K\r\n")+"\x1b[K\x1b[J")
}

// picture is what "top" shows.
type picture struct {
	at       time.Time
	status   statusData
	counters map[string]float64
}

func (o *topOptions) takePicture(ctx context.Context) (p picture, err error) {
	if p.status, _, err = askStatus(ctx, o.Factory); err != nil {
		return p, err
	}
	if p.status.Queue != nil {
		sum, err := o.Client.Scheduler.Summary(ctx, 15)
		if err != nil {
			return p, err
		}
		p.status.Values = &sum
	}
	p.at, p.counters = o.Now(), map[string]float64{}
	all, err := o.Client.Metrics.All(ctx)
	if err != nil && !cmdutil.NotServed(err) {
		return p, err
	}
	for _, m := range all {
		if m.Type != "counter" || notOfTop.MatchString(m.Name) {
			continue
		}
		for _, s := range m.Samples {
			p.counters[s.Name+s.Labels] = number(s)
		}
	}
	return p, nil
}

func number(s client.Sample) (n float64) {
	_, _ = fmt.Sscan(s.Value, &n) // 0 if it is none
	return n
}

// maxRates is how many counters are shown.
const maxRates = 10

// picture returns a picture as text; rates are those since the last one.
func (o *topOptions) picture(now, last picture) string {
	var b strings.Builder
	d := now.status
	fmt.Fprintf(&b, "%s %s  %s  up %s  %s\n\nVALUES\n", d.Version.App, d.Version.Version, o.PaintState(d.Status.Health.State),
		output.Age(now.at, d.Status.Health.Started), now.at.UTC().Format("15:04:05 MST"))
	if d.Values != nil {
		writeSummary(o.Factory, &b, d.Values)
	}
	if d.Queue != nil {
		b.WriteString("\nOPERATIONS\n")
		writeQueue(o.Factory, &b, d.Queue)
	}
	type rate struct {
		name      string
		total, by float64
	}
	var rates []rate
	for name, total := range now.counters {
		r := rate{name: name, total: total}
		if before, ok := last.counters[name]; ok {
			r.by = (total - before) / now.at.Sub(last.at).Seconds()
		}
		rates = append(rates, r)
	}
	slices.SortFunc(rates, func(x, y rate) int {
		return cmp.Or(cmp.Compare(y.by, x.by), cmp.Compare(y.total, x.total), cmp.Compare(x.name, y.name))
	})
	b.WriteString("\nCOUNTERS\n")
	for _, r := range rates[:min(len(rates), maxRates)] {
		fmt.Fprintf(&b, "    %15s %10s/s  %s\n", output.Thousands(uint64(r.total)), output.Thousands(uint64(max(r.by, 0))), r.name)
	}
	return b.String()
}
