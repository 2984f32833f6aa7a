package endpoint

import (
	"cmp"

	"batch.example/batch/llm"
)

// Price fills in resp's cost: the provider's own figure in US dollars (named, nil if there is none),
// otherwise the price from the table.
func (e *Endpoint) Price(resp *llm.Response, named *float64) {
	if named != nil && *named > mostPerCall { // it cannot be dollars
		named = nil
	}
	if named != nil {
		resp.Cost, resp.Priced = *named, true
		return
	}
	hasUsage := resp.Usage.Input+resp.Usage.Output > 0
	cost, known := e.Prices.Cost(resp.Usage, cmp.Or(resp.Service, e.service()), e.listed(resp.Model), e.listed(e.Model))
	if known && hasUsage {
		resp.Cost, resp.Priced = cost, true
		return
	}
	resp.Priced = e.IgnoreCost
}

// service returns the service tier in the requests, because gateways leave the tier out of their answers.
func (e *Endpoint) service() (name string) {
	for _, member := range []string{"speed", "service_tier", "serviceTier"} { // the first is Anthropic's
		if asked, ok := e.Body[member].(string); ok && name == "" {
			name = asked
		}
	}
	return name
}

// listed returns a model's name in the table of prices.
func (e *Endpoint) listed(model string) string {
	if e.Provider == "" {
		return model
	}
	return e.Provider + "/" + model
}
