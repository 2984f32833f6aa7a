package vocab

// Usage counts tokens. Input includes Cached and CacheWrite, CacheWrite includes
// CacheHour, and Output includes Reasoning.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"cached_tokens"` // read from the provider's cache
	CacheWrite int64 `json:"cache_write_tokens,omitempty"`
	CacheHour  int64 `json:"cache_write_1h_tokens,omitempty"` // written to be kept for an hour
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_tokens"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Cached: u.Cached + v.Cached,
		CacheWrite: u.CacheWrite + v.CacheWrite, CacheHour: u.CacheHour + v.CacheHour,
		Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning,
	}
}
