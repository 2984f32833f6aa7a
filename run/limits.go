package run

import (
	"fmt"
	"strings"

	"batch.example/batch/fault"
)

// costLimits are limits on the cost of calls, in US dollars; 0 means no limit.
type costLimits struct {
	total    float64 // of all runs into the directory
	instance float64 // agent.cost_limit
	given    bool    // instance was set by the user, not by a file or the default
}

// withoutPrice checks the limits for a model or service without a known price. It refuses a
// limit that the user set, because it could not be enforced, and returns a warning about any
// other limit. Free means that the calls are free, or that the user does not want costs counted.
func (l costLimits) withoutPrice(what string, free bool) (warning string, err error) {
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
	price := "no price is known for " + what
	problem := "its cost cannot be counted"
	switch {
	case len(lost) > 0:
		problem = strings.Join(lost, " and ") + " cannot be enforced"
	case free && l.instance > 0:
		return fmt.Sprintf("agent.cost_limit (%v) has no effect: %s", l.instance, price), nil
	case free:
		return "", nil
	}
	return "", fault.Newf(fault.Usage, "%s, so %s", price, problem).
		WithHint("`batch models` lists the names that have one;\n"+
			"give its price with -c model.litellm_model_registry=prices.json, a file in the form of LiteLLM's,\n"+
			"or run without a price: %s", strings.Join(ways, ", "))
}
