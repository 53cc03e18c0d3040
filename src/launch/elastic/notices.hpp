// Polls a cloud's notices that a machine will be taken away, every 2 s on a separate thread.
//
//   azure   GET /metadata/scheduledevents?api-version=2020-07-01   Metadata: true
//           {"Events": [{"EventType": "Preempt" | "Terminate", "NotBefore": ..}]}   (Microsoft
//           Learn, "Scheduled Events for Linux VMs"); at least 30 s
//   aws     PUT /latest/api/token, then GET /latest/meta-data/spot/instance-action: 404, or
//           {"action": "terminate" | "stop" | "hibernate", "time": ..}   (EC2 User Guide, "Spot
//           Instance interruption notices"); 120 s
//   gcp     GET /computeMetadata/v1/instance/preempted   Metadata-Flavor: Google: TRUE or FALSE
//           (Compute Engine, "Preemptible VM instances"); 30 s
//
// Times in a notice are times of the cloud's clock, so they are not compared with ours: the notice
// time that the cloud promises is used instead.
//
//   NoticeWatch watch("azure");                    // at 169.254.169.254:80, or azure=HOST:PORT
//   if (auto notice = watch.take()) ...
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "launch/elastic/connection.hpp"

namespace nereus::launch {

struct CloudNotice {
  double seconds = 30;
  std::string text;
  bool operator==(const CloudNotice&) const = default;
};

enum class Cloud { kAzure, kAws, kGcp };

// Interprets an answer: HTTP status and body. Empty if no end is announced.
std::optional<CloudNotice> read_notice(Cloud cloud, int status, std::string_view body);

class NoticeWatch {
 public:
  explicit NoticeWatch(const std::string& source);  // empty: never a notice. Throws Errors
  ~NoticeWatch();
  NoticeWatch(const NoticeWatch&) = delete;
  NoticeWatch& operator=(const NoticeWatch&) = delete;
  std::optional<CloudNotice> take();  // returns each notice once

 private:
  void watch();

  Cloud cloud_ = Cloud::kAzure;
  Address address_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  std::optional<CloudNotice> notice_;
  std::thread thread_;
};

}  // namespace nereus::launch
