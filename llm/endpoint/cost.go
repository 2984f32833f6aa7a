package endpoint

import "batch.example/batch/llm"

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
	cost, known := e.Prices.Cost(resp.Usage, resp.Service, e.listed(resp.Model), e.listed(e.Model))
	if known && hasUsage {
		resp.Cost, resp.Priced = cost, true
		return
	}
	resp.Priced = e.IgnoreCost
}

// listed returns what prices call a model of this endpoint.
func (e *Endpoint) listed(model string) string {
	if e.Provider == "" {
		return model
	}
	return e.Provider + "/" + model
}
