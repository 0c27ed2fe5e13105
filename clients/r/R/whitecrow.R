# A client of a whitecrow service. A question is a list, as its JSON is:
#   list(kind = "screen", record = list(age = 74, bmi = 44), epsilon = "1/10",
#        model = list(beta = 40, radius = 12, metric = "euclidean"))
# Budgets are texts such as "1/10": a double would round them.

#' Connect to a service.
#' @param url The service's address; plain http is refused for other machines.
#' @param token Who asks; by default from WHITECROW_TOKEN, or the file that WHITECROW_TOKEN_FILE names.
crow_connect <- function(url, token = NULL) {
  # A scheme may be written in any case. Only what is known to be safe passes, and not all but what is known to be not.
  scheme <- tolower(sub("^([A-Za-z][A-Za-z0-9+.-]*):.*$", "\\1", url))
  host <- tolower(httr2::url_parse(url)$hostname %||% "")
  local <- scheme == "http" && host %in% c("localhost", "127.0.0.1", "::1", "[::1]")
  if (scheme != "https" && !local) {
    stop("The token would travel in the open: use https.")
  }
  secret <- token %||% token_from_environment()
  # Behind a function: neither print nor str shows it, and it is not in a saved history.
  structure(list(url = sub("/$", "", url), token = function() secret), class = "whitecrow_connection")
}

#' @export
format.whitecrow_connection <- function(x, ...) paste0("<whitecrow at ", x$url, ">")

#' @export
print.whitecrow_connection <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

`%||%` <- function(a, b) if (is.null(a)) b else a

token_from_environment <- function() {
  file <- Sys.getenv("WHITECROW_TOKEN_FILE")
  found <- if (nzchar(file)) readLines(file, n = 1, warn = FALSE) else Sys.getenv("WHITECROW_TOKEN")
  if (!nzchar(found)) stop("Say who asks: a token, or WHITECROW_TOKEN.")
  found
}

# A reply that got lost is asked for again: a question is charged once, and its answer is stored.
call_service <- function(crow, path, body = NULL) {
  request <- httr2::request(paste0(crow$url, path))
  request <- httr2::req_auth_bearer_token(request, crow$token())
  # The service sends nobody elsewhere; whoever does would get the token.
  request <- httr2::req_options(request, followlocation = FALSE)
  request <- httr2::req_timeout(request, 120)
  request <- httr2::req_retry(request, max_tries = 5,
    is_transient = function(reply) httr2::resp_status(reply) %in% c(429, 502, 503, 504))
  request <- httr2::req_error(request, body = reason)
  if (!is.null(body)) request <- httr2::req_body_json(request, body, auto_unbox = TRUE, digits = NA)
  httr2::resp_body_json(httr2::req_perform(request))
}

# What the service says of an error: the same sentence as in Python.
reason <- function(reply) {
  said <- tryCatch(httr2::resp_body_json(reply), error = function(problem) NULL)
  told <- said$refused %||% said$error
  if (is.null(told)) NULL else paste0(told$cause, ": ", told$reason)
}

at <- function(dataset, part = "") paste0("/v1/datasets/", utils::URLencode(dataset, TRUE), part)

#' The names of the datasets that the token may know of.
crow_datasets <- function(crow) {
  vapply(call_service(crow, "/v1/datasets")$datasets, function(one) one$name, "")
}

#' A dataset's card, policy, deadlines and what remains.
crow_dataset <- function(crow, dataset) call_service(crow, at(dataset))

#' What a question would cost and how accurate it would be; no record is read.
crow_price <- function(crow, dataset, question) call_service(crow, at(dataset, "/price"), question)

#' What several questions would cost together.
crow_plan <- function(crow, dataset, questions) {
  call_service(crow, at(dataset, "/plan"), list(questions = questions))
}

#' Answer a question about made-up records: free, and it says nothing of anybody.
crow_dummy <- function(crow, dataset, question) release(call_service(crow, at(dataset, "/dummy"), question))

#' Answer a question. Asking again returns the stored answer, free.
crow_ask <- function(crow, dataset, question) release(call_service(crow, at(dataset, "/ask"), question))

#' One's own questions, and what became of them.
crow_history <- function(crow, dataset) call_service(crow, at(dataset, "/ledger"))$questions

release <- function(found) structure(found, class = "whitecrow_release")

#' @export
print.whitecrow_release <- function(x, ...) {
  if (isTRUE(x$dummy)) cat("DUMMY (made-up records)\n")
  cat("answer: ", format(x$answer), "\n", x$statement, "\n", sep = "")
  invisible(x)
}
