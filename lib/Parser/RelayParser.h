// Recursive descent over brackets, loops over everything that may be long. Nodes
// go straight into the current block, typed as they are made.
//
// An erroneous expression gives an invalid NodeId ("poison"): its error has been
// reported, and whatever uses it stays silent. A grammar error sets panic_; the
// statement loop then skips to the next `;` or `}` of its level.
#pragma once

#include "ObjectGraph.h"
#include "TensorText.h"

#include "bycc/IR/Builder.h"
#include "bycc/Parser/Lexer.h"
#include "bycc/Parser/Relay.h"

#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace bycc {

inline constexpr uint32_t maxNesting = 64;

// inf and nan, with an optional float suffix.
bool isSpecialNumber(std::string_view word);

class RelayParser {
public:
  RelayParser(std::string_view text, const std::string &file, const ParseOptions &options);
  Expected<Module> run();
  // A type alone, made in `module`.
  static Expected<TypeId> parseTypeIn(Module &module, std::string_view text,
                                      const SourceLocation &location);

private:
  // --- tokens (RelayParser.cpp)
  void advance() { token_ = lexer_.next(); }
  bool at(TokenKind kind) const { return token_.kind == kind; }
  bool atKeyword(std::string_view word) const {
    return token_.kind == TokenKind::Identifier && token_.text == word;
  }
  bool accept(TokenKind kind);
  bool expect(TokenKind kind, std::string_view after);
  bool tooManyErrors() const { return errors_.size() >= options_.maxErrors; }

  // --- diagnostics
  SourceLocation place(const Token &token) const;
  std::string excerpt(const SourceLocation &location) const;
  void report(Diagnostic diagnostic);
  void report(Error error, uint32_t addLines = 0);
  NodeId report(const Token &token, Status status, std::string message, std::string note = {},
                MessageId id = {});
  bool isCut(const Token &token) const;
  NodeId syntax(const Token &token, std::string message, Status status = Status::Input);
  NodeId take(Expected<NodeId> node);
  bool enter(const Token &token); // one level deeper, until leave(); false: too deep
  void leave() { --nesting_; }
  void stop();

  // --- module level (RelayParser.cpp)
  struct Definition {
    FunctionId function;
    Lexer lexer{{}}; // just before the body's '{'
    Token token;     // the '{'
    Token nameToken;
    std::vector<std::pair<std::string_view, NodeId>> params;
    std::vector<std::string_view> callees;
    bool isOk = true;
    bool hasBody = false;
    bool isReached = false; // from @main
    bool isLeftOut = false;
    std::vector<Diagnostic> problems; // of the signature
  };
  struct Signature {
    std::vector<std::pair<std::string_view, NodeId>> params;
    bool isOk = true;
  };
  bool checkBytes();
  Error takeErrors(); // there are some
  void scanModule();
  void scanDefinition();
  void skipBody(Definition &definition);
  void skipToDefinition();
  void parseMetadata(const Token &token);
  void parseObjectGraph();
  void applyName(NodeId node, uint64_t number);
  std::vector<size_t> bodyOrder();
  void parseBody(Definition &definition);
  Signature parseSignature(FunctionId function);
  bool parseParam(FunctionId function, Signature &signature);
  // --- text of other tools (ParseForeign.cpp)
  void warn(const Token &token, std::string message);
  std::optional<std::string> skipObject();
  bool skipVariableAttrs();
  void addFunctionAttr(AttrDict &attrs, std::string key, AttrValue value, const Token &token);
  void skipTypeDefinition();
  void markReached();
  void judge(Definition &definition, std::vector<Diagnostic> problems);
  std::vector<Diagnostic> collect(const std::function<void()> &parse);
  void removeLeftOut();
  void numberUnnamed(uint32_t firstNode);
  bool finishFunction(FunctionId function, const Token &at);

  // --- scopes: names of lets and parameters, graph numbers
  struct Scope {
    std::vector<std::optional<NodeId>> dense; // numbers 0, 1, 2, ...
    std::unordered_map<uint64_t, NodeId> sparse;
    size_t undoBegin = 0;
  };
  void pushScope();
  void popScope();
  void bind(std::string_view name, NodeId node);
  bool bindGraph(uint64_t number, NodeId node);
  std::optional<NodeId> findGraph(uint64_t number) const;
  NodeId localNamed(const Token &token);

  // --- statements (ParseStatements.cpp)
  NodeId parseItems(); // up to what closes them, which stays
  NodeId parseScopedItems();
  bool isAtBinding();
  NodeId parseBracedBlock(BlockId block);
  bool parseGraphBinding();
  bool parseLet();
  void parseFreeVar();
  void markLet(NodeId node, uint32_t before, std::string_view name);
  void recover();

  // --- expressions (ParseExpression.cpp)
  NodeId parseExpression();
  NodeId parseBinary(int level);
  NodeId parseUnary();
  NodeId parseCall();
  NodeId parseAtom();
  NodeId parseNamed();
  NodeId parseParenthesised();
  NodeId parseIf();
  NodeId parseFunctionLiteral(std::string_view name = {});
  NodeId parseProjections(NodeId node);
  NodeId parseGlobal();
  struct Arguments {
    std::vector<NodeId> values;
    AttrDict attrs;
    std::vector<std::string> objects; // keys of attributes whose value is an object
    Annotation annotation;
    bool isAnnotated = false;
    StringId asked{0};
    std::optional<uint32_t> origin;
    bool isOk = true;
  };
  Arguments parseArguments();
  bool parseAttribute(Arguments &arguments, std::string key, const Token &token);
  void reportMisplacedVendor(Arguments &arguments, const std::string &callee, const Token &token);
  void completePad(Arguments &arguments);
  void dropForeignAttrs(OpId op, Arguments &arguments, const Token &token);
  NodeId callOperator(OpId op, const Token &token);
  NodeId callValue(NodeId callee, const Token &token);
  void annotate(NodeId node, Arguments &arguments);
  NodeId notSupported(const Token &token, std::string what);
  SourceId sourceOf(const Token &token);
  std::optional<std::string> attributeKey(); // when the next tokens are `key =`
  std::string dottedName();

  // --- literals and attribute values (ParseLiterals.cpp)
  NodeId parseNumber(bool isNegative);
  NodeId parseTensorLiteral(const Token &token);
  struct MetaKey {
    std::string key;
    Token index;
  };
  std::optional<MetaKey> parseMetaKey(); // meta[key][i]
  NodeId parseMetaReference(const Token &token);
  std::optional<Expected<Constant>> metaConstant(uint64_t index); // nullopt: there is none
  Expected<std::optional<ConstantId>> givenConstant(uint64_t index);
  size_t numMetaConstants() const;
  std::optional<Dim> parseMetaDim();
  NodeId scalar(DType dtype, uint64_t bits);
  // Bits of the number that stands here as an element of `dtype`.
  std::optional<uint64_t> parseElement(DType dtype);
  std::optional<uint64_t> elementBits(const Token &token, bool isNegative, DType dtype);
  std::optional<AttrValue> parseAttrValue();
  std::optional<AttrValue> parseAttrList(TokenKind close);
  std::optional<AttrValue> parseAttrNumber();

  // --- types (ParseTypes.cpp)
  std::optional<TypeId> parseType();
  std::optional<TypeId> parseTensorType();
  std::optional<TypeId> parseTupleType();
  std::optional<TypeId> parseFunctionType();
  std::optional<Dim> parseDim();
  std::optional<Dim> parseDimAtom();
  std::optional<DType> parseDTypeName();

  std::string_view text_;
  bool isProgram_ = true; // else a type alone
  std::string file_;
  const ParseOptions &options_;
  Lexer lexer_;
  Token token_;
  std::deque<std::string> strings_; // resolved escapes
  Module module_;
  size_t numGiven_ = 0; // constants of the base
  Builder builder_;
  std::vector<Diagnostic> errors_;
  bool panic_ = false;               // a grammar error; the statement loop resumes
  bool fatal_ = false;               // no more errors are wanted, everything unwinds
  std::vector<uint32_t> lineStarts_; // filled by the first error
  uint32_t nesting_ = 0;

  std::vector<Definition> definitions_;
  std::unordered_map<std::string_view, size_t> definitionOf_;
  FunctionId lone_; // @main of a lone expression

  uint64_t nextGraphNumber_ = 0; // above all that the definition has used
  std::deque<Scope> scopes_;
  std::unordered_map<std::string_view, NodeId> locals_;
  std::vector<std::pair<std::string_view, std::optional<NodeId>>> undo_;
  std::unordered_map<uint64_t, NodeId> scalars_[numDTypes];

  std::unordered_set<std::string_view> typeNames_; // of types and their constructors
  std::optional<std::string> object_; // the last attribute value, when it was an object

  JsonValue metadata_;
  // Either of the two: entries of "relay.Constant".
  const JsonValue *constants_ = nullptr;
  std::optional<ObjectGraph> objects_;
  const JsonValue *nodeNames_ = nullptr; // by function
  const JsonValue *names_ = nullptr;     // of the function at hand, by graph number
  std::unordered_map<uint64_t, NodeId> metaNodes_;
  uint32_t metadataLine_ = 0;
  std::vector<std::string> opNames_;
};

} // namespace bycc
