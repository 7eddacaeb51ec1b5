// Package web is the page on which a person explores the models of package explore:
// one HTML file with style, script and the cases' chapters inside it.
//
// Served ([Handler]) the page asks this process. As a file ([Page.Write] with
// [Models]) it has the models inside it, compiled to WebAssembly, and asks nobody.
// A content security policy in the page allows no other request.
//
// Everything on it is modelled, and it says so in words, by colour, and by shape:
// hollow and dashed, as in the report, whose style sheet it shares.
package web
