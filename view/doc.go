// Package view serves pages about runs: run directories, sweeps, and folders of trajectories, also
// while a run works in them. It only reads.
//
// A page's data is a plain value. The value is shown by a template of this package, or as JSON with
// ?format=json, so that every page has a twin for programs. All pages can be read without JavaScript:
// filters, orders and jumps are parts of the address. The script adds keys and live figures.
//
// # Who may read
//
// Trajectories hold what models, datasets and containers wrote, and perhaps a company's code. A
// request needs the token of the link that the server printed, which a cookie then replaces. Its
// Host must be an address of the server, so that no foreign name that points to this machine can
// be used, and it must not come from a page of another site. Texts of others are never markup: the
// templates escape them, and the policy in each answer (Content-Security-Policy) allows neither
// scripts nor styles in a page, nor requests to other places. Secrets are hidden in all texts.
//
// # Costs
//
// A snapshot of a run is read again only when a file of the run has changed and somebody looks, at
// most once a second, and never more than a tenth of the time. One goroutine reads for all browsers.
package view
