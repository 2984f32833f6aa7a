package session

import "batch.example/batch/vocab"

// expectation estimates what the next call may cost, from the answers of the same conversation: rather
// too much than too little, since it is what a bill has for a call that nobody knows the cost of.
type expectation struct {
	tokens int64 // of the request, by an estimate; 0: not known

	answers int64
	last    vocab.Usage // of the last answer
	longest int64       // tokens of an answer
	cost    float64     // US dollars of all answers
	parts   float64     // the same, as weighed says
}

// weighed is what a call costs in units of an input token, at most models: a token from the cache costs
// a tenth, one that is written to it a quarter more, and one of the answer five times as much. How far
// a model differs shows in the answers that were paid.
func weighed(u vocab.Usage) float64 {
	return float64(u.Input) - 0.9*float64(u.Cached) + 0.25*float64(u.CacheWrite) + 5*float64(u.Output)
}

func (x *expectation) answered(u vocab.Usage, cost float64) {
	if cost <= 0 || u.Input <= 0 {
		return // it teaches nothing
	}
	u.Cached = min(u.Cached, u.Input) // some servers leave it out of the input; the sum of the parts must not come near zero
	x.answers, x.last, x.longest = x.answers+1, u, max(x.longest, u.Output)
	x.cost, x.parts = x.cost+cost, x.parts+weighed(u)
}

// likelyOutput is the assumed length of a first answer, in tokens. What was answered replaces it.
const likelyOutput = 2000

// dollars returns 0 if nothing is known.
func (x *expectation) dollars() float64 {
	if x.answers == 0 || x.tokens <= 0 {
		return 0
	}
	// What the provider has not counted yet is estimated at four bytes per token: it may be three.
	u := vocab.Usage{Input: x.tokens + max(0, x.tokens-x.last.Input-x.last.Output)/3, Output: max(x.longest, likelyOutput/(x.answers+1))}
	if x.last.Cached > 0 && u.Input > x.last.Input { // the conversation was continued: what was sent is in the cache
		u.Cached = x.last.Input
	}
	if x.last.CacheWrite > 0 {
		u.CacheWrite = u.Input - u.Cached
	}
	return weighed(u) * x.cost / x.parts
}
