package vocab

// Usage counts tokens. Input includes Cached; Output includes Reasoning.
type Usage struct {
	Input     int64 `json:"input_tokens" parquet:"input_tokens"`
	Cached    int64 `json:"cached_tokens" parquet:"cached_tokens"`
	Output    int64 `json:"output_tokens" parquet:"output_tokens"`
	Reasoning int64 `json:"reasoning_tokens" parquet:"reasoning_tokens"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.Output + v.Output, u.Reasoning + v.Reasoning}
}

// Price is what a model costs, in US dollars per token.
type Price struct {
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cached_input"` // input tokens that the provider found in its cache
	Output      float64 `json:"output"`
}

// Cost returns the US dollars of a call that used u.
func (p Price) Cost(u Usage) float64 {
	cached := min(u.Cached, u.Input)
	return float64(u.Input-cached)*p.Input + float64(cached)*p.CachedInput + float64(u.Output)*p.Output
}
