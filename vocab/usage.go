package vocab

// Usage counts tokens. Input includes Cached and CacheWrite; Output includes
// Reasoning.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"cached_tokens"` // read from the provider's cache
	CacheWrite int64 `json:"cache_write_tokens,omitempty"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_tokens"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.Input + v.Input, u.Cached + v.Cached, u.CacheWrite + v.CacheWrite, u.Output + v.Output, u.Reasoning + v.Reasoning,
	}
}

// Rates are US dollars per token.
type Rates struct {
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cached_input"`          // input read from the provider's cache
	CacheWrite  float64 `json:"cache_write,omitempty"` // input written to that cache; 0 = the price of other input
	Output      float64 `json:"output"`
}

// Price is what a model costs.
type Price struct {
	Rates
	Tiers []Tier `json:"tiers,omitempty"` // in the order of Above
}

// Tier is what every token costs in a call whose input is longer than Above.
type Tier struct {
	Above int64 `json:"above"` // tokens
	Rates
}

// Cost returns the price of a call that used u, in US dollars.
func (p Price) Cost(u Usage) float64 {
	rates := p.Rates
	for _, t := range p.Tiers {
		if u.Input > t.Above {
			rates = t.Rates
		}
	}
	return rates.cost(u)
}

func (r Rates) cost(u Usage) float64 {
	read := min(u.Cached, u.Input)
	written := min(u.CacheWrite, u.Input-read)
	if r.CacheWrite == 0 {
		written = 0
	}
	return float64(u.Input-read-written)*r.Input + float64(read)*r.CachedInput +
		float64(written)*r.CacheWrite + float64(u.Output)*r.Output
}
