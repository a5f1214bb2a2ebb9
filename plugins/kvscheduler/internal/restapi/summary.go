package restapi

import (
	"math"
	"net/http"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

// troublesShown is the default number of values that a summary names.
const troublesShown = 3

// summary counts the values by state and names the worst.
func (s *server) summary(_ *http.Request, args arguments) (answer, error) {
	limit, given, err := args.number("limit")
	if err != nil {
		return nil, err
	}
	if !given {
		limit = troublesShown
	}
	states := s.Scheduler.SummarizeStates(int(min(limit, math.MaxInt32)))
	sum := response.Summary{States: map[string]int{}, Troubles: []response.Trouble{}, Omitted: states.Troubles - len(states.Worst)}
	for state, n := range states.Counts {
		sum.States[state.String()] = n
		sum.Values += n
	}
	for _, v := range states.Worst {
		sum.Troubles = append(sum.Troubles, response.Trouble{Key: v.GetKey(), State: v.GetState().String(), Reason: api.Reason(v)})
	}
	return asJSON(sum), nil
}
