package endpoint

import (
	"cmp"

	"batch.example/batch/llm"
)

// Price fills in resp's cost: the provider's own figure in US dollars (named, nil without
// one), otherwise the price of the table.
func (e *Endpoint) Price(resp *llm.Response, named *float64) {
	if named != nil && *named > mostPerCall { // it is not dollars
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

// service is the service tier that requests ask for: gateways leave the tier out of their answers.
func (e *Endpoint) service() (name string) {
	for _, member := range []string{"speed", "service_tier", "serviceTier"} { // the first is Anthropic's
		if asked, ok := e.Body[member].(string); ok && name == "" {
			name = asked
		}
	}
	return name
}

// listed returns what prices call a model of this endpoint.
func (e *Endpoint) listed(model string) string {
	if e.Provider == "" {
		return model
	}
	return e.Provider + "/" + model
}
