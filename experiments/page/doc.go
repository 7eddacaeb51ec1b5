// Package page makes the report: one HTML file that opens from disk, with style,
// script and pictures inside it.
//
//  1. [New] sorts what [results.ReadFolder] read: by experiment, then modelled
//     before measured, the newest run of the same arms in full, earlier ones as a
//     row each.
//  2. Each run becomes a panel: verdicts first, each arm as a dot with its
//     interval among its trials, where the time went as bars that show what is
//     unattributed, one operation as a waterfall, distributions of stages, and
//     curves along each factor that is a number.
//  3. [Page.Write] fills the template. Pictures are SVG, made here, of numbers
//     alone; every text of a file is escaped, and no figure is computed that a
//     table beside the picture doesn't have.
//
// Modelled and measured differ in every picture by colour, by shape (hollow and
// dashed, filled and solid) and by the word. A page without JavaScript is whole;
// the script only unfolds details. A content security policy in the page forbids
// every request, so a report can't tell anybody that it was opened.
package page
