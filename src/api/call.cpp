#include "api/call.hpp"

#include <fmt/format.h>

#include <new>

#include "api/form/exit_codes.hpp"
#include "api/verbs/verbs.hpp"
#include "base/infeasible.hpp"

namespace nereus::api {

namespace {

// Collects what a verb says; keeps text of work that goes on in whole lines.
class Program : public Caller {
 public:
  Program(const CallOptions& options, Reply& reply) : options_(options), reply_(reply) {}

  void answer(const Report& report, const OutputOptions&) override {
    reply_.answer = Json::parse(render_json(report));
  }
  void say(std::string_view text) override {
    if (!options_.say) return;
    line_ += text;
    for (std::size_t end = 0; (end = line_.find('\n')) != std::string::npos;) {
      options_.say(std::string_view(line_).substr(0, end));
      line_.erase(0, end + 1);
    }
  }
  void note(const std::string& text) override { reply_.notes.push_back(text); }
  void warn(const Error& error) override { reply_.errors.push_back(error); }
  app::ProgressSink progress() override {
    return options_.progress ? options_.progress : [](const app::Progress&) {};
  }
  std::function<bool()> stop() override {
    return options_.stop ? options_.stop : [] { return false; };
  }

 private:
  const CallOptions& options_;
  Reply& reply_;
  std::string line_;
};

int run_verb(std::string_view verb, const Json& request, Caller& caller) {
  const Verb command = make_verb(verb, caller);
  if (command == nullptr)
    throw Errors({unknown_word("api.unknown-verb", fmt::format("there is no verb '{}'", verb), verb,
                               verb_names())});
  fill(*command, request);
  ErrorList errors;
  if (Option* format = command->find("--format")) command->give(*format, "json", errors);
  errors.throw_if_any();
  return command->run();
}

}  // namespace

Reply call(std::string_view verb, const Json& request, const CallOptions& options) {
  Reply reply;
  Program caller(options, reply);
  const auto fail = [&reply](int code, const std::vector<Error>& errors) {
    reply.exit_code = code;
    reply.errors.insert(reply.errors.end(), errors.begin(), errors.end());
  };
  try {
    reply.exit_code = run_verb(verb, request, caller);
  } catch (const Infeasible& nothing) {
    fail(kNothingFeasible, nothing.list());
  } catch (const Errors& errors) {
    fail(exit_code_of(errors), errors.list());
  } catch (const std::bad_alloc&) {
    fail(kBadEnvironment, {{"environment.memory", "out of memory"}});
  } catch (const std::exception& bug) {
    fail(kBug, {{"bug", bug.what()}});
  }
  return reply;
}

Json error_json(const Error& error) {
  Json where = nullptr;
  if (error.where.line > 0)
    where = fmt::format("{}:{}:{}", error.where.file, error.where.line, error.where.column);
  else if (!error.where.file.empty())
    where = error.where.file;
  Json hints = Json::array();
  if (!error.hint.empty()) hints.push_back(error.hint);
  return {{"code", error.code}, {"message", error.message}, {"where", where}, {"hints", hints}};
}

Json errors_json(const std::vector<Error>& errors) {
  if (errors.empty()) return nullptr;
  Json json = error_json(errors.front());
  for (std::size_t i = 1; i < errors.size(); ++i) json["more"].push_back(error_json(errors[i]));
  return json;
}

}  // namespace nereus::api
