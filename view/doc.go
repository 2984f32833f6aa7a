// Package view serves pages about runs: run directories, sweeps, and folders of trajectories, also
// while a run works in them. It only reads.
//
// A page's data is a plain value. A template of this package shows the value as a page, and ?format=json
// shows it as JSON, so that every page has a twin for programs. All pages work without JavaScript: filters,
// orders and jumps are parts of the address. The script adds keys and live figures, and it orders and filters
// the report's table of instances.
//
// The report compares runs. [Report] writes it as one file that needs no server: `batch report`.
//
// # Who may read
//
// Trajectories hold texts of models, datasets and containers, and perhaps a company's code. A request needs
// the token of the link that the server printed, which a cookie then replaces. Its Host must be an address of
// the server, so that a foreign name that points to this machine does not work, and it must not come from a
// page of another site. Foreign texts are never markup: the templates escape them, and the policy of each
// answer (Content-Security-Policy) allows neither scripts nor styles in a page, nor requests to other places.
// Secrets are hidden in all texts.
//
// # Costs
//
// A snapshot of a run is read again only if a file of the run has changed and a page needs it, at most once a
// second and for at most a tenth of the time. One goroutine reads for all browsers.
//
// Its API is not promised to other programs: see package batch.
package view
