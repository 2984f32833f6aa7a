package run

import (
	"fmt"
	"strings"

	"batch.example/batch/fault"
)

// costLimits are what calls may cost, in US dollars; 0 is no limit.
type costLimits struct {
	total    float64 // of all runs into the directory
	instance float64 // agent.cost_limit
	given    bool    // a person asked for that one, not a file or the default
}

// withoutPrice judges the limits of a model whose price nobody knows. One that
// a person asked for is refused, since it could not be kept; another is warned
// of. Free says that the user does not want costs counted, or need not.
func (l costLimits) withoutPrice(model string, free bool) (warning string, err error) {
	var lost, ways []string
	if l.total > 0 {
		lost, ways = append(lost, fmt.Sprintf("--cost-limit-total %v", l.total)), append(ways, "leave out --cost-limit-total")
	}
	if l.given && l.instance > 0 {
		lost, ways = append(lost, fmt.Sprintf("agent.cost_limit=%v", l.instance)), append(ways, "-c agent.cost_limit=0")
	}
	if !free {
		ways = append(ways, "-c model.cost_tracking=ignore_errors")
	}
	price := fmt.Sprintf("no price is known for model %q", model)
	problem := "what it costs cannot be counted"
	switch {
	case len(lost) > 0:
		problem = strings.Join(lost, " and ") + " cannot be kept"
	case free && l.instance > 0:
		return fmt.Sprintf("agent.cost_limit (%v) has no effect: %s", l.instance, price), nil
	case free:
		return "", nil
	}
	return "", fault.Newf(fault.Usage, "%s, so %s", price, problem).
		WithHint("give its price with -c model.litellm_model_registry=prices.json, a file in the form of LiteLLM's,\n"+
			"or go without: %s", strings.Join(ways, ", "))
}
