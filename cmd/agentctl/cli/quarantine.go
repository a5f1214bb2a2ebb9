package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

func (a *app) quarantineCommand() *cobra.Command {
	cmd := a.formatted(&cobra.Command{
		Use:   "quarantine",
		Short: "Show the values that bring their southbound down",
		Long: "Shows the values in quarantine: the southbound went down several times while they\n" +
			"were being worked on, so nothing is done with them until they are changed, deleted\n" +
			"or released. Values under suspicion are listed as well; they are tried one at a time.\n" +
			"If the southbound goes down some time after its values were applied, some of them\n" +
			"are held back to find the one that is the cause.\n\n" +
			"The exit code is 2 if there are values in quarantine or held back.",
		Example: "  agentctl quarantine\n  agentctl quarantine release --all",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := a.client.Quarantine(cmd.Context())
			if err != nil {
				return err
			}
			return a.showQuarantine(q, true)
		},
	})
	cmd.AddCommand(a.releaseCommand())
	return cmd
}

func (a *app) releaseCommand() *cobra.Command {
	var all bool
	cmd := a.formatted(&cobra.Command{
		Use:   "release KEY... | --all",
		Short: "Try values in quarantine again, one at a time",
		Long: "Tries values in quarantine again, one at a time. Keys may be given whole, or as MODEL/NAME.\n" +
			"To release a value that is held back ends the search; all that it holds back is applied.",
		Example: "  agentctl quarantine release vpp.interfaces/tap1",
		RunE: func(cmd *cobra.Command, keys []string) error {
			switch {
			case all && len(keys) > 0:
				return usage("%q: expected keys or --all, not both", keys[0])
			case !all && len(keys) == 0:
				return usage("expected the keys of the values to release, or --all")
			}
			keys = a.fullKeys(keys)
			q, err := a.client.ReleaseQuarantined(cmd.Context(), keys)
			if err != nil {
				return err
			}
			return a.showQuarantine(q, false)
		},
	})
	cmd.Flags().BoolVar(&all, "all", false, "release all values in quarantine")
	return cmd
}

func (a *app) showQuarantine(answer client.Answer[response.Quarantine], finding bool) error {
	q := answer.Value
	err := showAnswer(a, answer, a.printQuarantine)
	quarantined, held := 0, 0
	for i := range q.Suspects {
		switch s := &q.Suspects[i]; {
		case s.Quarantined:
			quarantined++
		case s.HeldBack:
			held++
		}
	}
	switch {
	case err != nil || !finding:
		return err
	case held > 0:
		return findingError{fmt.Errorf("values in quarantine: %d, held back: %d", quarantined, held)}
	case quarantined > 0:
		return findingError{fmt.Errorf("values in quarantine: %d", quarantined)}
	}
	return nil
}

func (a *app) printQuarantine(q response.Quarantine) error {
	if len(q.Suspects) == 0 {
		fmt.Fprintln(a.Out, "No values in quarantine.")
		return nil
	}
	t := newTable("KEY", "STATE", "SOUTHBOUND", "OPERATION", "WENT DOWN AT")
	var searches []string
	for _, s := range q.Suspects {
		state, operation := a.paint(yellow, "suspect"), cmp.Or(s.Operation, "applied")
		switch {
		case s.Quarantined:
			state = a.paint(red, "quarantined")
		case s.HeldBack:
			state, operation = a.paint(yellow, "held back"), ""
			if !slices.Contains(searches, s.Search) {
				searches = append(searches, s.Search)
			}
		}
		times := make([]string, len(s.Crashes))
		for i, at := range s.Crashes {
			times[i] = at.UTC().Format(time.RFC3339)
		}
		t.row(s.Key, state, s.Southbound, operation, strings.Join(times, "\n"))
	}
	if err := t.write(a); err != nil {
		return err
	}
	for _, search := range searches {
		fmt.Fprintln(a.Out, "\n"+search)
	}
	return nil
}
